//! What becomes of one value of a captured file: kept, replaced, cut or dropped.

use super::words::Words;
use axiowl_lang::load::LoadedRule;
use axiowl_lang::scalar::Pattern;
use axiowl_lang::source::Source;
use std::collections::BTreeSet;

/// A text of more characters is cut, where that changes nothing for the rule.
const LONG: usize = 240;
/// What a cut text keeps of its start.
const HEAD: usize = 160;
/// What stands in place of a secret.
const DROPPED: &str = "dropped";

/// Keys whose values are words of a closed set: sorts, states, names of programs.
const SORTS: [&str; 34] = [
    "type",
    "subtype",
    "kind",
    "role",
    "status",
    "state",
    "event",
    "op",
    "operation",
    "mode",
    "source",
    "origin",
    "originator",
    "entrypoint",
    "client",
    "level",
    "version",
    "cli_version",
    "cliversion",
    "format",
    "encoding",
    "platform",
    "os",
    "model",
    "provider",
    "model_provider",
    "modelprovider",
    "stop_reason",
    "phase",
    "action",
    "schema",
    "category",
    "thread_source",
    "permissionmode",
];

/// Pieces of keys whose values are secret.
const SECRETS: [&str; 11] = [
    "token",
    "secret",
    "passw",
    "apikey",
    "api_key",
    "authorization",
    "cookie",
    "credential",
    "private_key",
    "privatekey",
    "session_key",
];

/// Replaces values, and counts what it did.
pub struct Values {
    /// The words replaced so far.
    pub words: Words,
    patterns: Vec<Pattern>,
    /// The keys that the rule itself names.
    keys: BTreeSet<String>,
    /// Words, in lower case, that are known to be people's: of user names and folders. They
    /// stay nowhere, not as keys either.
    private: BTreeSet<String>,
    /// Secrets that were dropped.
    pub dropped: usize,
    /// Texts that were cut.
    pub cut: usize,
    /// Texts under the key `k` are the keys of a path, as in logs of changes.
    pub paths: bool,
}

impl Values {
    /// For the files of one rule.
    pub fn of(loaded: &LoadedRule) -> Self {
        Self {
            words: Words::knowing(vocabulary(loaded)),
            patterns: patterns(loaded),
            keys: keys(loaded),
            private: BTreeSet::new(),
            dropped: 0,
            cut: 0,
            paths: false,
        }
    }

    /// Says that the words of a text are people's own, as far as the rule does not know them.
    pub fn is_private(&mut self, text: &str) {
        let words = text.split(|c: char| !c.is_alphanumeric());
        let own = words.filter(|word| !word.is_empty() && !self.words.knows(word));
        self.private.extend(own.map(str::to_lowercase));
    }

    fn tells(&self, text: &str) -> bool {
        let mut words = text.split(|c: char| !c.is_alphanumeric());
        words.any(|word| self.private.contains(&word.to_lowercase()))
    }

    /// A value under a key (or in a column).
    pub fn value(&mut self, key: &str, text: &str) -> String {
        if self.paths && key == "k" {
            return self.key(text);
        }
        let lower = key.to_lowercase();
        if !text.is_empty() && is_secret(key) && !(number(text) && lower.contains("token")) {
            self.dropped += 1;
            return DROPPED.into();
        }
        let sort = SORTS.contains(&lower.as_str()) && is_sort(text) && !self.tells(text);
        if sort || time_as_text(text) {
            self.words.keep(text);
            return text.to_owned();
        }
        let text = self.shortened(text);
        self.words.text(&text)
    }

    /// A key: names of a format stay, anything longer is replaced as text is.
    pub fn key(&mut self, key: &str) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-.$".contains(c);
        let digits = key.bytes().filter(u8::is_ascii_digit).count();
        let name = key.len() <= 40 && key.chars().all(plain) && digits * 3 <= key.len();
        match self.keys.contains(key) || name && !self.tells(key) {
            true => {
                self.words.keep(key);
                key.to_owned()
            }
            false => self.words.text(key),
        }
    }

    /// A long text without its end, unless the rule would see the difference.
    fn shortened(&mut self, text: &str) -> String {
        if text.chars().count() <= LONG || looks_like_path(text) {
            return text.to_owned();
        }
        let mut short: String = text.chars().take(HEAD).collect();
        if !short.contains('\n') && text.contains('\n') {
            short.push_str("\n…");
        }
        let same =
            |pattern: &Pattern| pattern.regex().is_match(text) == pattern.regex().is_match(&short);
        match self.patterns.iter().all(same) {
            true => {
                self.cut += 1;
                short
            }
            false => text.to_owned(),
        }
    }
}

/// Whether what stands under a key is secret.
pub fn is_secret(key: &str) -> bool {
    let lower = key.to_lowercase();
    SECRETS.iter().any(|secret| lower.contains(secret))
}

fn number(text: &str) -> bool {
    text.len() <= 16 && text.parse::<f64>().is_ok()
}

/// A word of a closed set, and nothing that only looks like one.
fn is_sort(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let starts = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    starts && text.len() <= 40 && text.chars().all(plain) && digits <= 12
}

/// Seconds or milliseconds since the epoch, as text.
fn time_as_text(text: &str) -> bool {
    matches!(text.len(), 10 | 13)
        && text.starts_with(['1', '2'])
        && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn looks_like_path(text: &str) -> bool {
    let start = text.starts_with(['/', '~', '\\']) || text.get(1..3) == Some(":\\");
    start && !text.contains('\n') && text.len() < 4_096
}

/// Keys of a rule whose values are compared with what stands in files, or name files.
const COMPARED: [&str; 17] = [
    "path",
    "files",
    "probe",
    "also",
    "name",
    "matches",
    "strip",
    "skip_matching",
    "by",
    "sql",
    "keys",
    "prefix",
    "table",
    "needs",
    "file",
    "pattern",
    "argv",
];

/// The keys that a rule's pointers, columns and names lead to.
fn keys(loaded: &LoadedRule) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for (key, text) in loaded.literals() {
        for path in [&key, &text] {
            let steps = path.split('/').skip(1).filter(|step| !step.is_empty());
            out.extend(steps.map(|step| step.replace("~1", "/").replace("~0", "~")));
        }
    }
    out.retain(|key| !key.contains('/'));
    out
}

/// The words of a rule that files may hold: in its conditions, paths, probes and patterns.
fn vocabulary(loaded: &LoadedRule) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let mut add = |text: &str| {
        let words = text.split(|c: char| !c.is_ascii_alphanumeric());
        out.extend(words.filter(|word| word.len() > 1).map(str::to_owned));
    };
    for (key, text) in loaded.literals() {
        if COMPARED.contains(&key.as_str()) {
            // In a pattern, `\A` is no letter.
            let mut parts = text.split('\\');
            add(parts.next().unwrap_or_default());
            parts.for_each(|part| add(part.get(1..).unwrap_or_default()));
        }
    }
    for root in loaded.rule.roots.values() {
        root.iter().for_each(|candidate| add(candidate.as_str()));
    }
    for value in loaded.compared() {
        add(&value);
    }
    if let Some(policy) = &loaded.policy {
        for literal in policy.text.split(['"', '`', '\'']).skip(1).step_by(2) {
            add(literal);
        }
    }
    // Folders that every machine has, and the names that a rule may reject.
    for word in [
        "home", "users", "root", "tmp", "var", "opt", "srv", "mnt", "usr", "etc", "unknown",
        "untitled", "file", "http", "https",
    ] {
        add(word);
    }
    out
}

/// The patterns that a rule looks for in texts.
fn patterns(loaded: &LoadedRule) -> Vec<Pattern> {
    let mut out: Vec<Pattern> = Vec::new();
    let rule = &loaded.rule;
    let candidates = rule.name.iter().flat_map(|name| &name.candidates);
    out.extend(candidates.flat_map(|c| c.strip.iter().map(|at| at.value.clone())));
    for source in rule.sources.values() {
        if let Source::Jsonl(jsonl) = source {
            let takes = jsonl.take.iter();
            out.extend(takes.flat_map(|t| t.skip_matching.iter().map(|at| at.value.clone())));
        }
    }
    out.extend(loaded.patterns());
    out
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use axiowl_lang::load::{Layer, RuleFolder, load};

    pub fn values() -> Values {
        let rule = "axiowl: 1\nprovider: p\ntitle: Secret project Zebra\nroots: { r: \"~/.p\" }\nsources:\n  s:\n    jsonl:\n      path: \"{r}/chats/*.jsonl\"\n      take:\n        - where: { /type: custom-title }\n          fields: { id: /id, name: /name }\n          skip_empty: name\n          skip_matching: ['(?s)<system-reminder>.*']\nrows: { from: s, session: \"{id}\" }\nname: { candidates: [ { from: name, label: name } ] }\nproof: [ { source: p_x, when: { id: { present: true } }, grants: [enroll, send] } ]\n";
        let folder = RuleFolder::new("p", Layer::User, "rules/p", rule);
        Values::of(&load(&folder, &|_| None).unwrap())
    }

    #[test]
    fn words_of_the_rule_and_of_closed_sets_stay() {
        let mut values = values();
        assert_eq!(values.value("type", "brand-new-sort"), "brand-new-sort");
        assert_eq!(values.value("x", "custom-title"), "custom-title");
        assert_eq!(values.value("x", "1764511200000"), "1764511200000");
        // What the rule says to people, or calls its fields, is no reason to keep a word.
        assert!(!values.value("x", "Zebra").contains("Zebra"));
        assert!(!values.value("x", "empty").contains("empty"));
        assert!(!values.value("text", "brand-new-sort").contains("brand"));
        // A sentence or a path is no word of a closed set, whatever key it stands under.
        for text in ["rotate the keys", "C:/Users/alice", "alice@example.org"] {
            let out = values.value("action", text);
            assert!(!out.contains("keys") && !out.contains("alice"), "{out}");
        }
        values.is_private("/home/alice/zebra-crossing");
        assert!(!values.value("source", "alice").contains("alice"));
        assert!(!values.key("zebra-crossing").contains("crossing"));
        assert_eq!(values.key("crossroad"), "crossroad");
    }

    #[test]
    fn secrets_are_dropped_and_long_texts_cut_where_nothing_sees_it() {
        let mut values = values();
        assert_eq!(values.value("accessToken", "abc"), "dropped");
        assert_ne!(values.value("tokens_used", "1234"), "dropped");
        assert_eq!(values.value("password", "1234"), "dropped");
        assert_eq!(values.dropped, 2);
        let long = format!("{}\n{}", "word ".repeat(60), "rest ".repeat(200));
        let cut = values.value("text", &long);
        assert!(cut.len() < 200 && cut.contains('\n'), "{cut}");
        // A pattern of the rule would see this one missing.
        let long = format!("{}<system-reminder>x", "word ".repeat(100));
        assert!(values.value("text", &long).contains("<system-reminder>"));
    }

    #[test]
    fn keys_that_are_names_stay_and_others_do_not() {
        let mut values = values();
        assert_eq!(values.key("customTitle"), "customTitle");
        assert!(!values.key("/home/alice/project").contains("alice"));
        assert!(
            values
                .key("01a22cbd-a1e8-7a93-ac5a-2bcb9e103879")
                .starts_with("00000001-")
        );
    }
}
