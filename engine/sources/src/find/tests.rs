//! Patterns below roots, and what is refused.

use super::*;
use crate::roots;
use axiowl_lang::rule::Rule;
use axiowl_model::Timestamp;
use std::fs;

struct Home(tempfile::TempDir);

impl Home {
    fn new(files: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        Self(dir)
    }

    fn run<T>(&self, act: impl FnOnce(&mut Finder, &mut Report) -> T) -> (T, Vec<Issue>) {
        self.run_knowing(None, act)
    }

    /// The same with names that are known already.
    fn run_knowing<T>(
        &self,
        known: Option<&dyn Fn(&str) -> bool>,
        act: impl FnOnce(&mut Finder, &mut Report) -> T,
    ) -> (T, Vec<Issue>) {
        let text = "axiowl: 1\nprovider: p\ntitle: t\nroots: { r: \"~/r [x]\", s: ~/s }\n";
        let rule: Rule = serde_yaml::from_str(text).unwrap();
        let world = World::real(
            self.0.path().into(),
            BTreeMap::new(),
            Timestamp::from_millis(0),
        );
        let (roots, _) = roots::resolve(&rule, &world);
        let mut report = Report::default();
        let mut finder = Finder::new(&world, &roots, Kind::File).passing_over(known);
        let out = act(&mut finder, &mut report);
        (out, report.into_issues("s"))
    }

    fn find(&self, patterns: &[&str]) -> (Vec<String>, Vec<Issue>) {
        let at = |text: &&str| At {
            value: Template::parse(text).unwrap(),
            span: Default::default(),
        };
        let patterns: Vec<_> = patterns.iter().map(at).collect();
        let (hits, issues) = self.run(|finder, report| finder.find(&patterns, "", report));
        let home = format!("{}/", self.0.path().display());
        (
            hits.iter()
                .map(|hit| hit.recorded.replace(&home, ""))
                .collect(),
            issues,
        )
    }

    fn link(&self, from: &str, to: &str) {
        std::os::unix::fs::symlink(to, self.0.path().join(from)).unwrap();
    }
}

fn codes_of(issues: &[Issue]) -> Vec<&str> {
    issues.iter().map(|issue| issue.code.as_str()).collect()
}

#[test]
fn wild_parts_match_within_one_folder_and_order_is_by_path() {
    let home = Home::new(&[
        "r [x]/b/2.jsonl",
        "r [x]/b/1.jsonl",
        "r [x]/a/9.jsonl",
        "r [x]/a/sub/3.jsonl",
        "r [x]/a/n.txt",
        "r [x]/.hidden/4.jsonl",
        "s/a/9.jsonl",
    ]);
    let (found, issues) = home.find(&["{r}/*/*.jsonl"]);
    let expected = [
        "r [x]/.hidden/4.jsonl",
        "r [x]/a/9.jsonl",
        "r [x]/b/1.jsonl",
        "r [x]/b/2.jsonl",
    ];
    assert_eq!(
        (found, issues.len()),
        (expected.map(String::from).to_vec(), 0)
    );
    assert_eq!(home.find(&["{r}/**/3.jsonl"]).0, ["r [x]/a/sub/3.jsonl"]);
    assert_eq!(
        home.find(&["{r}/a/9.jsonl", "{r}/[a]/*.jsonl", "{s}/a/*"])
            .0
            .len(),
        2
    );
    assert_eq!(
        home.find(&["{r}/none/*", "{r}/a/n.txt/*"]),
        (vec![], vec![])
    );
}

#[test]
fn nothing_outside_the_roots_is_returned() {
    let home = Home::new(&["r [x]/in/1.jsonl", "out/2.jsonl", "r [x]/plain/3.jsonl"]);
    home.link("r [x]/folder", "../out");
    home.link("r [x]/in/file.jsonl", "../../out/2.jsonl");
    home.link("r [x]/again", "in");
    home.link("r [x]/dangling", "nowhere");
    let (found, issues) = home.find(&["{r}/*/*.jsonl"]);
    assert_eq!(
        found,
        [
            "r [x]/again/1.jsonl",
            "r [x]/in/1.jsonl",
            "r [x]/plain/3.jsonl"
        ]
    );
    assert!(
        codes_of(&issues)
            .iter()
            .all(|code| *code == codes::OUTSIDE_ROOTS)
    );
    assert!(issues.len() >= 2, "{issues:?}");
    for pattern in ["{r}/../out/*", "/etc/*", "{unknown}/x", "~/out/*"] {
        let (found, issues) = home.find(&[pattern]);
        assert_eq!(
            (found.len(), codes_of(&issues)),
            (0, vec![codes::OUTSIDE_ROOTS]),
            "{pattern}"
        );
    }
}

#[test]
fn secrets_are_refused_by_name_and_through_links() {
    let home = Home::new(&["r [x]/auth.json", "r [x]/ok.json", "r [x]/.ssh/config.json"]);
    home.link("r [x]/harmless.json", "auth.json");
    let (found, issues) = home.find(&["{r}/*.json", "{r}/.ssh/*.json"]);
    assert_eq!(found, ["r [x]/ok.json"]);
    assert_eq!(codes_of(&issues), [codes::SECRET; 3]);
    assert!(!is_secret("/home/gh/.p/a.json", "/home/gh/.p", "/home/gh"));
    assert!(!is_secret("/srv/gh/p/a.json", "/srv/gh/p", "/home/u"));
    assert!(is_secret("/home/u/.client.json", "/home/u", "/home/u"));
    assert!(!is_secret(
        "/home/u/.p/.state.json",
        "/home/u/.p",
        "/home/u"
    ));
    assert!(is_secret("/srv/.ssh/a.json", "/srv/.ssh", "/home/u"));
}

#[test]
fn a_named_file_must_lie_below_a_root() {
    let home = Home::new(&[
        "r [x]/a/1.jsonl",
        "s/2.jsonl",
        "out/3.jsonl",
        "r [x]/auth.json",
    ]);
    home.link("r [x]/out.jsonl", "../out/3.jsonl");
    home.link("r [x]/folder", "../out");
    let named = |path: &str| {
        let full = home.0.path().join(path).to_str().unwrap().to_owned();
        home.run(|finder, report| finder.named(&full, report).is_some())
    };
    assert_eq!(named("r [x]/a/1.jsonl"), (true, vec![]));
    assert_eq!(named("s/2.jsonl"), (true, vec![]));
    assert_eq!(named("r [x]/none.jsonl"), (false, vec![]));
    assert_eq!(named("r [x]/a"), (false, vec![]), "a folder is no file");
    for path in [
        "out/3.jsonl",
        "r [x]/out.jsonl",
        "r [x]/folder/3.jsonl",
        "s/../out/3.jsonl",
    ] {
        let (found, issues) = named(path);
        assert_eq!(
            (found, codes_of(&issues)),
            (false, vec![codes::OUTSIDE_ROOTS]),
            "{path}"
        );
    }
    assert_eq!(codes_of(&named("r [x]/auth.json").1), [codes::SECRET]);
    let relative = home.run(|finder, report| finder.named("a/1.jsonl", report).is_some());
    assert_eq!(relative, (false, vec![]));
}

#[test]
fn a_root_of_several_folders_is_searched_in_each() {
    let home = Home::new(&["A/w1/x.json", "B/w1/x.json", "B/w2/x.json", "C/w1/x.json"]);
    let text = "axiowl: 1\nprovider: p\ntitle: t\nroots: { r: { every: [~/B, ~/none, ~/A] } }\n";
    let rule: Rule = serde_yaml::from_str(text).unwrap();
    let now = Timestamp::from_millis(0);
    let world = World::real(home.0.path().into(), BTreeMap::new(), now);
    let (roots, _) = roots::resolve(&rule, &world);
    let mut report = Report::default();
    let mut finder = Finder::new(&world, &roots, Kind::File);
    let pattern = At {
        value: Template::parse("{r}/*/x.json").unwrap(),
        span: Default::default(),
    };
    let patterns = std::slice::from_ref(&pattern);
    let hits = finder.find(patterns, "", &mut report);
    let shown = |hit: &Hit| {
        let below = hit.real.strip_prefix(home.0.path()).unwrap();
        below.to_string_lossy().into_owned()
    };
    let found: Vec<String> = hits.iter().map(shown).collect();
    assert_eq!(found, ["A/w1/x.json", "B/w1/x.json", "B/w2/x.json"]);
    assert!(finder.root_exists(patterns));

    // What a folder or a row names may lie in any of them, and nowhere else.
    let mut folders = Finder::new(&world, &roots, Kind::Folder);
    let wide = At {
        value: Template::parse("{r}/w1").unwrap(),
        span: Default::default(),
    };
    let below = folders.find(std::slice::from_ref(&wide), "", &mut report);
    assert_eq!(below.len(), 2);
    for folder in &below {
        assert_eq!(finder.within(folder, "x.json", &mut report).len(), 1);
    }
    let at = |name: &str| home.0.path().join(name).to_string_lossy().into_owned();
    assert!(finder.named(&at("A/w1/x.json"), &mut report).is_some());
    assert!(finder.named(&at("C/w1/x.json"), &mut report).is_none());
}

#[test]
fn files_whose_names_say_that_they_are_known_are_counted_and_not_looked_at() {
    let home = Home::new(&[
        "r [x]/a/1.jsonl",
        "r [x]/a/2.jsonl",
        "r [x]/b/2.jsonl",
        "out/1.jsonl",
    ]);
    home.link("r [x]/b/1.jsonl", "../../out/1.jsonl");
    let pattern = At {
        value: Template::parse("{r}/*/*.jsonl").unwrap(),
        span: Default::default(),
    };
    let known = |name: &str| name == "1.jsonl";
    let ((names, passed), issues) = home.run_knowing(Some(&known), |finder, report| {
        let hits = finder.find(&[pattern], "", report);
        let names: Vec<_> = hits.iter().map(Hit::stem).collect();
        (names, finder.passed())
    });
    assert_eq!((names, passed), (vec!["2".into(), "2".into()], 1));
    // What a symlink leads to decides, whatever its name says.
    assert_eq!(codes_of(&issues), [codes::OUTSIDE_ROOTS], "{issues:?}");
}

#[test]
fn several_patterns_may_look_into_one_folder() {
    let home = Home::new(&["r [x]/a/1.jsonl", "r [x]/a/2.json", "r [x]/b/3.jsonl"]);
    let (found, issues) = home.find(&["{r}/*/*.jsonl", "{r}/*/*.json", "{r}/**/1.*"]);
    let expected = ["r [x]/a/1.jsonl", "r [x]/a/2.json", "r [x]/b/3.jsonl"];
    assert_eq!(
        (found, issues.len()),
        (expected.map(String::from).to_vec(), 0)
    );
}
