//! Values by JSON Pointer, with `*` fanning out.
//!
//! Null counts as no value everywhere: a provider that writes `"name": null` says
//! as much as one that writes nothing.

use axiowl_lang::at::At;
use axiowl_lang::scalar::Pointer;
use serde_json::Value;
use std::borrow::Cow;

/// The value a pointer leads to.
///
/// `-` stands for the last element of a list. `*` stands for every element of a list or every value of a mapping; such a pointer
/// gives the list of what it found, and nothing where it found nothing.
pub fn at(pointer: &Pointer, value: &Value) -> Option<Value> {
    find(pointer.segments(), value).map(Cow::into_owned)
}

/// The first of several pointers that gives a value.
///
/// A list or mapping that a later alternative looks into is no value itself: with
/// `[/content, /content/0/text]` the content counts when it is text, and else the
/// first part's text, never the list of parts.
pub fn first(pointers: &[At<Pointer>], value: &Value) -> Option<Value> {
    pick(pointers.iter().map(|p| &p.value), |pointer| {
        find(pointer.segments(), value)
    })
}

/// The rule of [`first`] over any way to look a pointer up.
pub(crate) fn pick<'p, 'v>(
    pointers: impl Iterator<Item = &'p Pointer> + Clone,
    look_up: impl Fn(&Pointer) -> Option<Cow<'v, Value>>,
) -> Option<Value> {
    pointers.clone().find_map(|pointer| {
        let found = look_up(pointer)?;
        let container = found.is_array() || found.is_object();
        let looked_into = || {
            pointers.clone().any(|other| {
                let (own, other) = (pointer.segments(), other.segments());
                other.len() > own.len() && other.starts_with(own)
            })
        };
        (!container || !looked_into()).then(|| found.into_owned())
    })
}

/// Follows segments; borrowed unless they fan out.
pub(crate) fn find<'v>(segments: &[String], value: &'v Value) -> Option<Cow<'v, Value>> {
    let mut current = value;
    for (depth, segment) in segments.iter().enumerate() {
        if segment == "*" {
            let rest = &segments[depth + 1..];
            let mut out = Vec::new();
            let mut add = |element: &'v Value| match find(rest, element) {
                // A second `*` flattens: one list, however deep.
                Some(Cow::Owned(Value::Array(list))) => out.extend(list),
                Some(found) => out.push(found.into_owned()),
                None => {}
            };
            match current {
                Value::Array(list) => list.iter().for_each(&mut add),
                Value::Object(map) => map.values().for_each(&mut add),
                _ => return None,
            }
            return (!out.is_empty()).then_some(Cow::Owned(Value::Array(out)));
        }
        current = match current {
            Value::Object(map) => map.get(segment)?,
            Value::Array(list) if segment == "-" => list.last()?,
            Value::Array(list) => list.get(index(segment)?)?,
            _ => return None,
        };
    }
    (!current.is_null()).then_some(Cow::Borrowed(current))
}

/// A list index as RFC 6901 writes it: no sign, no leading zero.
pub(crate) fn index(segment: &str) -> Option<usize> {
    let canonical = segment == "0" || !segment.starts_with(['0', '+']);
    segment.parse().ok().filter(|_| canonical)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pointer(text: &str) -> Pointer {
        Pointer::parse(text).unwrap()
    }

    fn several(texts: &[&str]) -> Vec<At<Pointer>> {
        let at = |text: &&str| At {
            value: pointer(text),
            span: Default::default(),
        };
        texts.iter().map(at).collect()
    }

    #[test]
    fn plain_and_escaped_segments() {
        let value = json!({"a/b": {"~": [1, null, "x"]}, "n": null, "0": "zero"});
        assert_eq!(at(&pointer("/a~1b/~0/2"), &value), Some(json!("x")));
        assert_eq!(at(&pointer("/0"), &value), Some(json!("zero")));
        assert_eq!(at(&pointer("/a~1b/~0/-"), &value), Some(json!("x")));
        assert_eq!(at(&pointer("/-"), &json!([])), None);
        for nothing in [
            "/n",
            "/a~1b/~0/1",
            "/a~1b/~0/02",
            "/a~1b/~0/-1",
            "/n/x",
            "/zz",
        ] {
            assert_eq!(at(&pointer(nothing), &value), None, "{nothing}");
        }
        assert_eq!(at(&pointer(""), &value), Some(value));
    }

    #[test]
    fn a_star_gives_a_flat_list_or_nothing() {
        let value =
            json!({"m": [{"t": ["a", "b"]}, {"t": ["c"]}, {"u": 1}, 4], "o": {"x": 1, "y": 2}});
        assert_eq!(
            at(&pointer("/m/*/t/*"), &value),
            Some(json!(["a", "b", "c"]))
        );
        assert_eq!(
            at(&pointer("/m/*/t"), &value),
            Some(json!([["a", "b"], ["c"]]))
        );
        assert_eq!(at(&pointer("/o/*"), &value), Some(json!([1, 2])));
        assert_eq!(at(&pointer("/m/*/none"), &value), None);
        assert_eq!(at(&pointer("/o/x/*"), &value), None);
    }

    #[test]
    fn a_container_another_alternative_looks_into_is_no_value() {
        let pointers = several(&["/content", "/content/0/text"]);
        let text = json!({"content": "hello"});
        let parts = json!({"content": [{"text": "first"}]});
        let tool = json!({"content": [{"result": 1}]});
        assert_eq!(first(&pointers, &text), Some(json!("hello")));
        assert_eq!(first(&pointers, &parts), Some(json!("first")));
        assert_eq!(first(&pointers, &tool), None);
        let lists = several(&["/new/list", "/list"]);
        assert_eq!(first(&lists, &json!({"list": [1]})), Some(json!([1])));
    }
}
