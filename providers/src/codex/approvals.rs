//! Answers for what a turn may ask its client (`providers/codex.md` C3): nobody is there to
//! decide, so nothing is allowed, and the turn goes on without.

use serde_json::{Value, json};

/// The answer to a request of the server.
pub(super) fn answer(request: &Value) -> Value {
    let id = &request["id"];
    let result = match request["method"].as_str().unwrap_or_default() {
        "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => {
            json!({ "decision": "decline" })
        }
        "item/permissions/requestApproval" => json!({ "permissions": {} }),
        "item/tool/requestUserInput" => json!({ "answers": {} }),
        "mcpServer/elicitation/request" => json!({ "action": "decline" }),
        _ => {
            let error = json!({ "code": -32601, "message": "this client decides nothing" });
            return json!({ "id": id, "error": error });
        }
    };
    json!({ "id": id, "result": result })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_ever_allowed() {
        let ask = |method: &str| answer(&json!({ "id": 7, "method": method, "params": {} }));
        let approvals = [
            "item/commandExecution/requestApproval",
            "item/fileChange/requestApproval",
        ];
        for method in approvals {
            assert_eq!(
                ask(method),
                json!({ "id": 7, "result": { "decision": "decline" } })
            );
        }
        let declined = json!({ "id": 7, "result": { "action": "decline" } });
        assert_eq!(ask("mcpServer/elicitation/request"), declined);
        let none = json!({ "id": 7, "result": { "permissions": {} } });
        assert_eq!(ask("item/permissions/requestApproval"), none);
        for unknown in [
            "execCommandApproval",
            "attestation/generate",
            "item/tool/call",
            "",
        ] {
            assert_eq!(ask(unknown)["error"]["code"], -32601, "{unknown}");
        }
    }
}
