//! Whether one condition plainly implies another.

use crate::cond::{Cond, Test};
use serde_json::Value;

/// Whether `a` holds only where `b` does, as far as their shape shows. `false` says nothing.
pub(super) fn implies(a: &Cond, b: &Cond) -> bool {
    if a == b {
        return true;
    }
    match (a, b) {
        (_, Cond::All(parts)) => parts.iter().all(|part| implies(a, part)),
        (Cond::Any(parts), _) => parts.iter().all(|part| implies(part, b)),
        (Cond::All(parts), _) if parts.iter().any(|part| implies(part, b)) => true,
        (_, Cond::Any(parts)) => parts.iter().any(|part| implies(a, part)),
        (Cond::Not(a), Cond::Not(b)) => implies(b, a),
        (Cond::Env(a), Cond::Env(b)) | (Cond::Executable(a), Cond::Executable(b)) => {
            a.iter().all(|name| b.contains(name))
        }
        (Cond::Field { name: x, test: p }, Cond::Field { name: y, test: q }) => {
            x == y && narrower(&p.value, &q.value)
        }
        _ => false,
    }
}

/// Whether what passes `a` passes `b`.
fn narrower(a: &Test, b: &Test) -> bool {
    let values = |test: &Test| -> Option<Vec<Value>> {
        match test {
            Test::Equals(value) => Some(vec![value.clone()]),
            Test::In(values) => Some(values.clone()),
            Test::Ops(_) => None,
        }
    };
    match (values(a), values(b)) {
        (Some(a), Some(b)) => a.iter().all(|value| b.contains(value)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cond(text: &str) -> Cond {
        serde_yaml::from_str(text).unwrap()
    }

    #[test]
    fn narrower_conditions_are_known() {
        for (a, b) in [
            ("{ x: 1 }", "{ x: 1 }"),
            ("{ x: 1, y: 2 }", "{ x: 1 }"),
            ("{ x: 1 }", "{ x: [1, 2] }"),
            ("{ x: 1 }", "{ any: [ { x: 1 }, { y: 2 } ] }"),
            (
                "{ all: [ { x: 1 }, { y: 2 }, { z: 3 } ] }",
                "{ z: 3, x: 1 }",
            ),
            ("{ any: [ { x: 1, z: 1 }, { x: 2 } ] }", "{ x: [1, 2] }"),
            ("{ not: { x: [1, 2] } }", "{ not: { x: 1 } }"),
        ] {
            assert!(implies(&cond(a), &cond(b)), "{a} -> {b}");
        }
    }

    #[test]
    fn what_is_not_plain_is_not_claimed() {
        for (a, b) in [
            ("{ x: 1 }", "{ x: 1, y: 2 }"),
            ("{ x: [1, 2] }", "{ x: 1 }"),
            ("{ any: [ { x: 1 }, { y: 2 } ] }", "{ x: 1 }"),
            ("{ not: { x: 1 } }", "{ not: { x: [1, 2] } }"),
            ("{ x: 1 }", "{ y: 1 }"),
            ("{ x: { present: true } }", "{ x: 1 }"),
            ("{ fact: f }", "{ fact: g }"),
        ] {
            assert!(!implies(&cond(a), &cond(b)), "{a} -> {b}");
        }
    }
}
