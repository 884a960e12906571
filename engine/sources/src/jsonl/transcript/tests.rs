//! Walks over transcripts, both ways.

use super::super::input::tests::deflated;
use super::*;
use proptest::prelude::*;
use std::fs;

type Lines = Vec<(u64, String)>;

fn walk(
    content: &[u8],
    zipped: bool,
    run: impl Fn(&Path, &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>) -> io::Result<Scanned>,
    stop: usize,
) -> (Lines, Scanned) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.jsonl");
    let file = if zipped {
        dir.path().join("t.jsonl.zst")
    } else {
        path.clone()
    };
    fs::write(
        file,
        if zipped {
            deflated(content)
        } else {
            content.to_vec()
        },
    )
    .unwrap();
    let mut seen = Lines::new();
    let scanned = run(&path, &mut |offset, line| {
        seen.push((offset, String::from_utf8_lossy(line).into_owned()));
        if seen.len() < stop {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    });
    (seen, scanned.unwrap())
}

fn zst() -> Vec<String> {
    vec![".zst".to_owned()]
}

#[test]
fn a_walk_goes_on_where_the_last_one_ended() {
    let text = b"one\ntwo id\nthree\nfour id";
    let (seen, first) = walk(
        text,
        false,
        |p, v| scan_lines(p, &[], 0, 1 << 20, None, v),
        2,
    );
    assert_eq!(seen, [(0, "one".into()), (4, "two id".into())]);
    assert_eq!(
        (first.offset, first.complete),
        (11, false),
        "stopped by the visitor"
    );
    let from = first.offset;
    let (seen, second) = walk(
        text,
        false,
        |p, v| scan_lines(p, &[], from, 1 << 20, None, v),
        9,
    );
    assert_eq!(seen, [(11, "three".into()), (17, "four id".into())]);
    assert_eq!(
        (second.offset, second.complete),
        (17, true),
        "the last line may be half written"
    );
    let (seen, third) = walk(
        text,
        false,
        |p, v| scan_lines(p, &[], 0, 12, Some(b"id"), v),
        9,
    );
    assert_eq!(
        (seen, third.complete),
        (vec![(4, "two id".into())], false),
        "the budget ends it"
    );
    let missing = scan_lines(Path::new("/no/such"), &zst(), 0, 1, None, &mut |_, _| {
        ControlFlow::Continue(())
    });
    assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_message_near_the_end_of_a_huge_file_is_found_without_reading_it() {
    let mut text = "{\"text\":\"xxxxxxxxxxxxxxxxxxxxxxxxx\"}\n".repeat(400_000);
    text.push_str("{\"id\":\"wanted\"}\n{\"after\":1}\n");
    let back = |p: &Path, v: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>| {
        scan_back(p, &[], 100 << 10, Some(b"wanted"), v)
    };
    let (seen, scanned) = walk(text.as_bytes(), false, back, 1);
    assert_eq!(
        seen,
        [(text.len() as u64 - 28, "{\"id\":\"wanted\"}".into())]
    );
    assert_eq!((scanned.offset, scanned.complete), (seen[0].0, false));
}

#[test]
fn a_line_too_long_is_passed_over_both_ways() {
    let mut text = b"first\n".to_vec();
    text.resize(text.len() + MAX_LINE * 2 + 5, b'x');
    text.extend_from_slice(b"\nlast\n");
    let (seen, scanned) = walk(
        &text,
        false,
        |p, v| scan_lines(p, &[], 0, u64::MAX, None, v),
        9,
    );
    let lines: Vec<&str> = seen.iter().map(|(_, line)| line.as_str()).collect();
    assert_eq!(
        (lines, scanned.too_long, scanned.complete),
        (vec!["first", "last"], 1, true)
    );
    let (seen, scanned) = walk(&text, false, |p, v| scan_back(p, &[], u64::MAX, None, v), 9);
    let lines: Vec<&str> = seen.iter().map(|(_, line)| line.as_str()).collect();
    assert_eq!(
        (lines, scanned.too_long, scanned.complete),
        (vec!["last", "first"], 1, true)
    );
}

#[test]
fn secrets_are_not_located() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("auth.json"), "{}").unwrap();
    assert_eq!(locate(&dir.path().join("auth.json"), &[]), None);
    assert_eq!(locate(&dir.path().join("auth"), &[".json".into()]), None);
}

#[test]
fn a_recorded_transcript_must_lie_below_a_root() {
    let home = crate::harness::Home::new();
    home.write("t.jsonl", "x");
    fs::write(home.path("out.jsonl"), "x").unwrap();
    std::os::unix::fs::symlink(home.path("out.jsonl"), home.path("r/link.jsonl")).unwrap();
    let text = |below: &str| home.path(below).to_str().unwrap().to_owned();
    let roots = BTreeMap::from([("r".to_owned(), text("r"))]);
    let located = |below: &str| locate_below(&home.world(), &roots, &text(below), &zst());
    assert_eq!(located("r/t.jsonl"), Some(home.path("r/t.jsonl")));
    for below in [
        "out.jsonl",
        "r/link.jsonl",
        "r/../out.jsonl",
        "r/none.jsonl",
    ] {
        assert_eq!(located(below), None, "{below}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn both_ways_see_the_same_lines(
        lines in prop::collection::vec("[a-c]{0,3}", 0..200), long in 0usize..3, zipped in any::<bool>(), probe in any::<bool>(),
    ) {
        let mut text = lines.join("\n");
        for _ in 0..long {
            text.push_str(&format!("\n{}b", "a".repeat(70_000)));
        }
        let wanted = probe.then_some(&b"ab"[..]);
        let expected: Lines = {
            let mut at = 0;
            let all = text.split('\n').map(|line| {
                let here = at;
                at += line.len() as u64 + 1;
                (here, line.to_owned())
            });
            all.filter(|(_, l)| !l.is_empty() && (!probe || l.contains("ab"))).collect()
        };
        let (forth, _) = walk(text.as_bytes(), zipped, |p, v| scan_lines(p, &zst(), 0, 1 << 30, wanted, v), usize::MAX);
        let (mut back, end) = walk(text.as_bytes(), zipped, |p, v| scan_back(p, &zst(), 1 << 30, wanted, v), usize::MAX);
        back.reverse();
        prop_assert_eq!(&forth, &expected);
        prop_assert_eq!(&back, &expected);
        prop_assert!(end.complete);
    }
}
