//! One provider's rule as types. The JSON Schema comes from here.
//!
//! No `flatten`, `untagged` or internally tagged enum anywhere below: each
//! buffers and loses the place of an error.

use crate::at::At;
use crate::cond::Cond;
pub use crate::identity::{IdentityClass, IdentityRule, Require};
pub use crate::root::RootRule;
use crate::scalar::{OneOrMany, Pattern};
use crate::source::{STATE_ROOT, Source};
use crate::template::Template;
pub use crate::tested::{Outside, Tested, VersionRange};
pub use crate::transcript::{
    SqliteTranscript, Transcript, TranscriptRecord, TranscriptSelect, UndoRecord,
};
use axiowl_model::{Kind, Status};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One provider's rule: `rules/<provider>/rule.yaml`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Language version; a newer one than the engine's is refused.
    pub axiowl: At<u32>,
    /// Provider key, equal to the folder's name.
    pub provider: At<String>,
    /// The word for `discover <scope>`; the provider key with dashes when left out.
    pub scope: Option<String>,
    /// What it is about, in a line.
    pub title: String,
    /// Versions of the provider's program the rule was tested with.
    pub tested: Option<At<Tested>>,
    /// Whether `discover all` mentions the provider when none of its roots exists.
    #[serde(default)]
    pub listed: Listed,
    /// Takes `roots`, `sources` (with `beside` and `expects`), `rows`, `name`, `status`, `evidence`, `transcript` and `policy`, where
    /// this rule does not give them (for `rows` and `name`: key by key), from a sibling rule
    /// that reads the same store for another surface.
    pub shares: Option<At<String>>,
    /// Name → candidate folders; the first whose variables are set and which exists. A
    /// candidate made of set variables alone decides even when its folder is missing; one that
    /// starts with a set variable rules out those that start with none. With `every`, each
    /// candidate that exists is a root.
    #[serde(default)]
    pub roots: BTreeMap<String, RootRule>,
    /// The roots that a further home of the provider (`homes` in config.yaml) stands for; all of
    /// them when left out.
    pub home: Option<OneOrMany<At<String>>>,
    /// Name → reader.
    #[serde(default)]
    pub sources: BTreeMap<String, Source>,
    /// Stores the provider is known to keep and this rule does not read, each with the reason.
    /// Files that are there are reported; none is opened.
    #[serde(default)]
    pub unread: Vec<At<Unread>>,
    /// Files and folders the provider keeps that hold no session: settings, caches, logs. Where
    /// there is nothing else, it was not used yet. A folder stands for all that is in it.
    #[serde(default)]
    pub beside: Vec<At<Template>>,
    /// Sources of which a file has to be there when the provider is: where one has none, the
    /// provider keeps its files elsewhere by now, and that is reported.
    #[serde(default)]
    pub expects: Vec<At<String>>,
    /// How rows are put together.
    #[serde(default)]
    pub rows: Rows,
    /// Where names come from.
    #[serde(default)]
    pub name: Option<Naming>,
    /// First one whose condition holds; the last one usually has none.
    #[serde(default)]
    pub status: Vec<At<StatusRule>>,
    /// A ladder: the first rung that holds decides; none grants more than it says.
    #[serde(default)]
    pub proof: Vec<At<Rung>>,
    /// Sentences shown with a row.
    #[serde(default)]
    pub evidence: Vec<At<Say>>,
    /// Other names that lead to a row.
    #[serde(default)]
    pub aliases: Vec<At<Template>>,
    /// Whether an untargeted run removes rows it no longer proves.
    #[serde(default)]
    pub prune: Prune,
    /// Rhai file beside the rule; it can only take away.
    pub policy: Option<At<String>>,
    /// Who is calling over MCP.
    #[serde(default)]
    pub identity: Vec<At<IdentityRule>>,
    /// Where messages stand: proof of `seen` and `turn_done`.
    pub transcript: Option<At<Transcript>>,
}

impl Rule {
    /// The word for `discover <scope>`.
    pub fn scope_word(&self) -> String {
        match &self.scope {
            Some(word) => word.clone(),
            None => self.provider.replace('_', "-"),
        }
    }
}

impl Rule {
    /// Whether a further home of the provider stands for this root.
    pub fn is_home(&self, root: &str) -> bool {
        match &self.home {
            Some(named) => named.iter().any(|name| name.as_str() == root),
            None => root != STATE_ROOT,
        }
    }
}

/// Whether `discover all` mentions a provider that is not there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Listed {
    /// Always.
    #[default]
    Always,
    /// Only when one of its roots exists.
    WhenPresent,
}

/// Files that are known and not read.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unread {
    /// File patterns below a root.
    #[serde(default)]
    pub files: OneOrMany<At<Template>>,
    /// Only where this holds (`env`, `executable`); without `files`, what is reported.
    pub when: Option<Cond>,
    /// Files with these names do not count (`*` and `?` fit any text).
    #[serde(default)]
    pub except: Vec<At<String>>,
    /// A file whose stem (name without its last extension) equals a field of a source's rows
    /// does not count: `session.id`.
    pub unless_in: Option<OneOrMany<At<String>>>,
    /// Why they are not read, and what a person can do.
    pub say: String,
}

/// How rows are put together.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    /// The sources rows start from. A session that an earlier one gives is not taken from a later one.
    pub from: Option<OneOrMany<At<String>>>,
    /// The provider session id.
    pub session: Option<At<Template>>,
    /// Fields put in place of a missing one: the first that is present.
    #[serde(rename = "let")]
    pub first_of: Option<BTreeMap<String, OneOrMany<At<String>>>>,
    /// Fields made from others (roots may be named too); absent when a part is missing.
    pub make: Option<BTreeMap<String, At<Template>>>,
    /// Rows that belong here; what is dropped is counted with the reason.
    #[serde(rename = "where")]
    pub filter: Option<Cond>,
    /// Ordered like `status`; the default is main.
    pub kind: Option<Vec<At<KindRule>>>,
    /// The session's last activity: the first field that is present.
    pub seen_at: Option<OneOrMany<At<String>>>,
    /// The field that holds the folder the session works in; `cwd` when left out.
    pub cwd: Option<At<String>>,
    /// Other sources, joined by a field.
    pub join: Option<Vec<At<Join>>>,
}

/// A left join on one field, hash-indexed once.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Join {
    /// The other source.
    pub with: At<String>,
    /// Field of the row; `*` joins the whole document, or with `exists` asks whether the
    /// other source has any row at all.
    pub on: At<String>,
    /// Field of the other source; the same name when left out.
    pub to: Option<At<String>>,
    /// The name under which its fields (or the answer) appear.
    #[serde(rename = "as")]
    pub name: At<String>,
    /// For documents: whether the list (or the keys of the mapping) in this field holds the
    /// value; ids written `local:<id>` count too.
    pub member_of: Option<At<String>>,
    /// For documents: the value that the mapping in this field has under the row's key. Of a
    /// list of texts the first.
    pub value_of: Option<At<String>>,
    /// Only whether there is such a row.
    #[serde(default)]
    pub exists: bool,
}

/// A kind and when a row is of it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KindRule {
    /// When.
    pub when: Option<Cond>,
    /// main, subagent, empty or copy.
    #[schemars(schema_with = "kinds")]
    pub is: Kind,
    /// What a person should do instead, shown as the reason (`{field}` filled in).
    pub say: Option<At<Template>>,
}

/// Where names come from.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Naming {
    /// In order of priority; the first usable one wins.
    #[serde(default)]
    pub candidates: Vec<At<Candidate>>,
    /// What makes a candidate unusable.
    pub reject: Option<Vec<At<Reject>>>,
    /// Whether the bare session id may stand in for a name; never when left out.
    pub session_fallback: Option<SessionFallback>,
    /// A session without a usable name is shown as "Untitled session". That names nothing: it
    /// enrols nobody.
    #[serde(default)]
    pub untitled_fallback: bool,
}

/// A place a name may come from.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// The field.
    pub from: At<String>,
    /// What `explain` calls it.
    pub label: String,
    /// Generated or derived: it enrols, but never replaces a strong name.
    #[serde(default)]
    pub weak: bool,
    /// At most this many characters.
    pub clip: Option<usize>,
    /// Only the last part of a path.
    #[serde(default)]
    pub basename: bool,
    /// Only the first line that is not blank.
    #[serde(default)]
    pub first_line: bool,
    /// Put in front.
    pub prefix: Option<String>,
    /// Only for rows where this holds; always when left out.
    pub when: Option<Cond>,
    /// What these match is cut out before anything else.
    #[serde(default)]
    pub strip: Vec<At<Pattern>>,
}

/// What makes a candidate unusable. Blank names are never usable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reject {
    /// Nothing of it would show.
    Blank,
    /// "unknown", in any case.
    Unknown,
    /// "untitled …", in any case.
    Untitled,
    /// It has more than one line.
    Multiline,
    /// It has the form of a UUID.
    Uuid,
    /// It is the session's own id.
    SessionId,
}

/// Whether the bare session id may stand in for a name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionFallback {
    /// Never.
    #[default]
    Never,
    /// When the run is targeted at that very id.
    Targeted,
    /// Always.
    Accepted,
}

/// A status and when a row has it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusRule {
    /// When.
    pub when: Option<Cond>,
    /// The status.
    #[schemars(schema_with = "statuses")]
    pub is: Status,
    /// Sets last_error, which bars enrolment (`{field}` filled in).
    pub error: Option<At<Template>>,
}

/// A rung of the proof ladder.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rung {
    /// The name a row's `source` and `proof` get.
    pub source: At<String>,
    /// When it holds; always when left out.
    pub when: Option<Cond>,
    /// What it grants; nothing means evidence only.
    #[serde(default)]
    pub grants: Vec<Grant>,
    /// What would be needed for more, shown as the reason.
    pub missing: Option<String>,
}

/// What a rung grants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// The row may become a target.
    Enroll,
    /// A message can be sent.
    Send,
}

/// A sentence shown with a row.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Say {
    /// When; always when left out.
    pub when: Option<Cond>,
    /// The sentence; left out when a field of it is missing.
    pub say: At<Template>,
}

/// Whether an untargeted run removes rows it no longer proves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Prune {
    /// They stay, not sendable.
    #[default]
    Never,
    /// Stale automatic rows are removed.
    Unproven,
}

fn kinds(_: &mut SchemaGenerator) -> Schema {
    let words: Vec<&str> = Kind::ALL.iter().map(|k| k.as_str()).collect();
    json_schema!({ "type": "string", "enum": words })
}

fn statuses(_: &mut SchemaGenerator) -> Schema {
    let words: Vec<&str> = Status::ALL.iter().map(|s| s.as_str()).collect();
    json_schema!({ "type": "string", "enum": words })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_rule_parses_with_places() {
        let text = "axiowl: 1\nprovider: p\ntitle: t\nroots: { r: \"~/.p\" }\nsources:\n  s: { json: { path: \"{r}/a.json\", fields: { id: /id } } }\nrows: { from: s, session: \"{id}\", where: { id: { matches: \"^a\", present: true } } }\nproof:\n  - { source: p_file, grants: [enroll, send] }\n";
        let rule: Rule = serde_yaml::from_str(text).unwrap();
        assert_eq!(*rule.axiowl, 1);
        assert_eq!(&text[rule.proof[0].source.span.range()], "p_file");
        let Some(Cond::Field { test, .. }) = &rule.rows.filter else {
            panic!("{:?}", rule.rows.filter)
        };
        let crate::cond::Test::Ops(ops) = &test.value else {
            panic!()
        };
        assert_eq!(&text[ops.matches.as_ref().unwrap().span.range()], "\"^a\"");
    }
}
