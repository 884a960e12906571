//! A big JSON document with most of the elements of its long lists and mappings left out.

use serde_json::Value;

/// A smaller document stays as it is, white space and all.
const BIG: usize = 64 << 10;
/// A list or mapping of more elements is cut.
const MANY: usize = 40;
/// Elements that stay of one that is cut, beside those that name a session.
const FEW: usize = 3;

/// The document without most of its elements; nothing when it is small, or no JSON.
pub fn trimmed(text: &str, ids: &[String]) -> Option<String> {
    if text.len() <= BIG {
        return None;
    }
    let mut value: Value = serde_json::from_str(text).ok()?;
    trim(&mut value, ids);
    serde_json::to_string(&value).ok()
}

fn trim(value: &mut Value, ids: &[String]) {
    let names_one = |text: &str| ids.iter().any(|id| text.contains(id.as_str()));
    match value {
        Value::Array(list) => {
            if list.len() > MANY {
                let mut at = 0;
                list.retain(|item| {
                    at += 1;
                    at <= FEW || names_one(&item.to_string())
                });
            }
            list.iter_mut().for_each(|item| trim(item, ids));
        }
        Value::Object(map) => {
            if map.len() > MANY {
                let mut at = 0;
                map.retain(|key, item| {
                    at += 1;
                    at <= FEW || names_one(key) || names_one(&item.to_string())
                });
            }
            map.values_mut().for_each(|item| trim(item, ids));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn long_lists_keep_what_names_a_session() {
        let list: Vec<Value> = (0..5_000)
            .map(|n| json!({ "id": format!("s{n:05}") }))
            .collect();
        let text = json!({ "all": list, "x": 1 }).to_string();
        let out = trimmed(&text, &["s04000".to_owned()]).unwrap();
        let out: Value = serde_json::from_str(&out).unwrap();
        let ids: Vec<&str> = out["all"]
            .as_array()
            .unwrap()
            .iter()
            .map(|i| i["id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, ["s00000", "s00001", "s00002", "s04000"]);
        assert_eq!(trimmed("{\"a\": 1}", &[]), None);
    }
}
