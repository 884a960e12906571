//! The table of ways to pretend to be another session: every host has a test for each, or says
//! why there is no room for it.

use serde_json::Value;
use std::path::Path;

#[test]
fn every_way_of_pretending_has_a_test_for_every_host() {
    let root = Path::new(crate::program::ROOT);
    let text = std::fs::read_to_string(root.join("tests/mcp/spoofs.yaml")).expect("the table");
    let table = axiowl_lang::yaml::to_json(&text, 4).expect("YAML");
    let tests = crate::tests_of::tests(root);
    let ways: Vec<&str> = table["ways"]
        .as_array()
        .expect("ways")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert!(ways.len() > 5, "{ways:?}");
    let mut hosts = 0;
    for (host, cells) in table.as_object().expect("a table") {
        if matches!(host.as_str(), "ways" | "every_host") {
            continue;
        }
        hosts += 1;
        for way in &ways {
            let own = cells.get(*way).or_else(|| table["every_host"].get(*way));
            match own {
                Some(Value::Array(named)) => {
                    assert!(!named.is_empty(), "{host}, {way}: no test");
                    for test in named.iter().filter_map(Value::as_str) {
                        assert!(tests.contains(test), "{host}, {way}: no test `{test}`");
                    }
                }
                Some(Value::String(why)) => assert!(why.len() > 10, "{host}, {way}: {why}"),
                _ => panic!("{host}, {way}: nothing is said"),
            }
        }
        for way in cells.as_object().expect("cells").keys() {
            assert!(ways.contains(&way.as_str()), "{host}: no such way: {way}");
        }
    }
    assert!(hosts >= 8, "{hosts}");
}
