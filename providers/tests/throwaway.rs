use axiowl_model::*;
use axiowl_pipeline::edge::*;
use axiowl_sources::World;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
struct Look(String);
impl TranscriptLook for Look {
    fn look(&self, id: MessageId) -> Result<Sighting, LookError> {
        let text = std::fs::read(&self.0).map_err(|e| LookError {
            path: self.0.clone(),
            reason: e.to_string(),
        })?;
        let text = String::from_utf8_lossy(&text);
        let id = id.to_string();
        let mut s = Sighting::default();
        let mut offset = 0u64;
        for l in text.lines() {
            let ev = || Evidence {
                path: Some(self.0.clone()),
                offset: Some(offset),
                ..Evidence::new("transcript_record", "")
            };
            let v: serde_json::Value = serde_json::from_str(l).unwrap_or_default();
            let p = &v["payload"];
            if s.message.is_none() {
                if (v["type"] == "user" && v["uuid"] == id.as_str())
                    || p["item"]["client_id"] == id.as_str()
                    || (p["item"]["type"] == "UserMessage" && l.contains(&format!("[AxiOwl {id}]")))
                {
                    s.message = Some(ev());
                }
            } else if s.turn.is_none() {
                let done = (v["type"] == "assistant"
                    && v["message"]["stop_reason"] == "end_turn"
                    && v["isApiErrorMessage"] != true)
                    || p["type"] == "task_complete";
                let bad = (v["type"] == "assistant" && v["isApiErrorMessage"] == true)
                    || p["type"] == "turn_aborted";
                if done || bad {
                    s.turn = Some(TurnEnd {
                        completed: done,
                        evidence: ev(),
                    });
                }
            }
            offset += l.len() as u64 + 1;
        }
        Ok(s)
    }
}
#[test]
#[ignore]
fn run() {
    let v = |n: &str| std::env::var(n).unwrap_or_default();
    let env: BTreeMap<String, String> = serde_json::from_str(&v("AX_ENV")).unwrap();
    let world = World::real(
        env["HOME"].clone().into(),
        env.clone(),
        Timestamp::from_millis(0),
    );
    let provider = v("AX_PROVIDER");
    let target = Target {
        key: SessionKey::local(&provider, v("AX_SESSION")),
        display_name: "x".into(),
        cwd: v("AX_CWD"),
        home: String::new(),
    };
    let context = EdgeContext {
        world: &world,
        state_root: format!("{}/state", env["HOME"]).into(),
        axiowl: "/none".into(),
        child_env: env.clone().into_iter().collect(),
        provider_home: None,
    };
    let edges = axiowl_providers::edges();
    let edge = edges.iter().find(|e| e.provider() == provider).unwrap();
    let t = Instant::now();
    println!(
        "PROBE {:?} {:?}",
        edge.probe(&context, &target),
        t.elapsed()
    );
    let id: MessageId = if v("AX_ID").is_empty() {
        MessageId::new()
    } else {
        v("AX_ID").parse().unwrap()
    };
    println!("ID {id}");
    let look = Look(v("AX_TRANSCRIPT"));
    let body = format!(
        "[AxiOwl {id}] from \"operator\" (axiowl, proven); answer\n{}",
        v("AX_BODY")
    );
    let limit = v("AX_LIMIT").parse().unwrap_or(120);
    let delivery = Delivery {
        message_id: id,
        run_id: RunId::new(),
        target: &target,
        visible_body: &body,
        deadline: Instant::now() + Duration::from_secs(limit),
        output_cap: 1 << 20,
        transcript: &look,
    };
    if v("AX_FIND").is_empty() {
        let t = Instant::now();
        let r = edge.submit(&context, &delivery, &mut |p| {
            println!("{:6.3} {p:?}", t.elapsed().as_secs_f64())
        });
        println!("{:6.3} RESULT {r:?}", t.elapsed().as_secs_f64());
    }
    let t = Instant::now();
    println!(
        "FIND {:?} {:?}",
        edge.find(&context, &delivery),
        t.elapsed()
    );
}
