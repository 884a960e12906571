//! Every diagnostic code: what it means and what to do, for `rules check --explain`.
//!
//! A code is never reused for something else. `tests/diagnostics/` has at least one case
//! for each.

macro_rules! codes {
    ($($name:ident = $code:literal, $title:literal, $explanation:literal;)*) => {
        $(#[doc = $title] pub const $name: &str = $code;)*
        /// Code, one-line title, explanation.
        pub const ALL: &[(&str, &str, &str)] = &[$(($code, $title, $explanation)),*];
    };
}

codes! {
    UNREADABLE = "AX001", "A file of a rule cannot be read",
        "The folder of a rule has no `rule.yaml`, or a file in it cannot be opened or is no UTF-8 text. Give the file back, or remove the folder: the next lower layer is used meanwhile.";
    SYNTAX = "AX002", "The text is no YAML",
        "The place is where the YAML reader gave up; the cause is often on the line before it: a missing quote, bracket or colon, or an indentation that differs from its neighbours. Texts that hold `: `, ` #`, or start with one of `{ [ & * ! | > ' \" % @` have to be quoted.";
    UNKNOWN_KEY = "AX003", "A key that does not exist here",
        "Keys that are not known are refused, since a mistyped one would silently do nothing. The help names the nearest key of the mapping the key stands in, or all of them.";
    VALUE = "AX004", "A value of the wrong type or form",
        "The value does not fit its key: text where a list is expected, a word out of another set, a size, time, pointer or column type that cannot be read. Truth values are written `true` and `false`, nothing else.";
    MISSING_KEY = "AX005", "A key is missing",
        "The mapping at this place has to have the named key.";
    DUPLICATE_KEY = "AX006", "A key stands twice",
        "A mapping holds each key once: with two, one would silently be lost.";
    TOO_LARGE = "AX007", "A file is too large or nests too deep",
        "Rules, worlds and configurations may have 256 KiB, policies 64 KiB, and may nest 32 deep; aliases may not unfold to more than the text itself. No honest rule comes near.";
    NEWER_LANGUAGE = "AX008", "Written for a newer engine",
        "`axiowl:` names the version of the rule language. A newer one than the engine knows may mean things this engine would get wrong, so the rule is not used at all. Update AxiOwl, or take the rule out of your overrides to use the built-in one.";
    PATCH_BASE = "AX009", "The rule that a patch changes does not exist",
        "A folder with `extends:` changes parts of the rule below it. `extends: builtin` needs a built-in rule for the same provider, `extends: <pack>` a pack of that name with one.";
    PROVIDER_NAME = "AX010", "The provider key is not the folder's name",
        "The folder `rules/<provider>/` and the key `provider:` name the same thing. A key is made of lower-case letters, digits and `_`, and starts with a letter; it becomes part of every row's identity.";
    SHARED_UNKNOWN = "AX011", "The shared rule does not exist",
        "`shares:` names a sibling folder whose rule reads the same store. There is no such folder in this layer or below it.";
    SHARED_BROKEN = "AX012", "The shared rule cannot be used",
        "The rule that `shares:` names is broken itself, or shares a third one. Mend it first; a shared rule has to stand on its own feet.";
    SCOPE_TAKEN = "AX013", "Two rules answer to one scope",
        "`discover <scope>` has to lead to one provider. The first in the order of provider keys keeps the word. `all` and `remote` belong to the engine.";
    PATCH_KEY = "AX014", "A patch names a place that the rule does not have",
        "Paths under `override:` lead to something that stands in the rule: `name.reject`, `proof[pinned_in_the_app].grants`, `sources.threads.sqlite.columns.archived`. Elements of a list are called by what tells them apart (a text itself; `source`, `as`, `label`, `is` … of a mapping) or by their number. A place that is not there is an error, since the change would silently do nothing. `axiowl rules show --effective <provider>` prints the rule.";
    PATCH_VERB = "AX015", "A verb of a patch that does not fit",
        "`append` adds items to a list (at its end, or before the element that `before:` names) or new keys to a mapping, `replace` puts a value in place of one, `remove: true` takes something out, `remove: [names]` parts of it.";
    PATCH_DRIFT = "AX016", "The rule under a patch has changed",
        "`base:` is the digest of the rule that a patch was written against. The rule below is another one by now, after an update. The patch is still applied. `axiowl rules diff <provider>` shows what changed; with `--accept`, `base` moves on.";
    WIDENS = "AX017", "An override that widens enrolment",
        "The override adds a grant, or takes away or loosens something that keeps sessions out: a status, a kind, a reject, `where`, the condition of a granting rung, the policy. That may be what is meant, and sessions may become targets that the rule below kept out.";
    UNTRUSTED = "AX018", "A part that can run is not trusted",
        "Policy scripts of packs, and commands of any rule that is not built in, run only after `axiowl rules trust <folder>`. Trust belongs to the content: another byte, and it has to be given again. Without it the rest of the rule works, and what the part would have decided is decided against enrolment.";
    UNKNOWN_SOURCE = "AX020", "A source that is not declared",
        "`rows.from`, `rows.join`, `unless_in` and `{source.field}` paths name sources of the same rule (or of the rule it shares).";
    UNKNOWN_FIELD = "AX021", "A field that no row has",
        "Conditions, templates, candidates and joins name fields: those of the sources in `rows.from`, `as.field` for a join, the names in `rows.let` and `rows.make`, and `registered_as`. Inside `take` and `transcript`, fields of a record are JSON Pointers and start with `/`. A name that no row has would never match, so it is refused.";
    UNKNOWN_ROOT = "AX022", "A root that is not declared",
        "Source paths start with `{root}`, where the root is declared under `roots:`.";
    RESERVED_NAME = "AX023", "A name that the rule language keeps for itself",
        "`any`, `all`, `not`, `fact`, `targeted`, `env` and `executable` are words of conditions; `path`, `stem`, `folder`, `size` and `mtime` are given to every row that comes from a file, `key` to elements of a mapping, and `registered_as` to every row. Names with `.`, `/`, `*` or spaces could not be told from paths. Take another name.";
    NAME_TAKEN = "AX024", "Two things of one name",
        "A join whose `as` is also a field, a made field or another join would hide one of them. Take another name.";
    PATH_ESCAPES = "AX030", "A path that leaves its root",
        "A source path starts with `{root}/` (or is `{source.field}`, which the engine checks when it reads), and has no `..`. Rules see nothing outside their roots.";
    SECRET_PATH = "AX031", "A file that holds secrets",
        "Keys, tokens, passwords and credential files are never read. No rule, layer or setting can lift this.";
    BAD_SQL = "AX032", "The SQL is not one SELECT",
        "A SQLite source runs one statement that starts with SELECT, or with WITH and ends in a SELECT. Nothing may follow a semicolon.";
    BAD_ROOT = "AX033", "A root that is no absolute folder",
        "A root candidate is an absolute path, starts with `~/`, or with a `${VARIABLE}` of the examined world. It holds no fields and no `..`.";
    COMMAND = "AX034", "A command that may not run",
        "A source of kind `command` runs a provider's program, which files can almost always stand for. It names the program as on PATH, says `readonly: proven`, and gives the reason: where it was shown that it changes nothing. It runs only where the user allows commands.";
    INCOMPLETE = "AX040", "A part that every rule needs is missing",
        "A rule needs `roots`, `sources`, `rows.from`, `rows.session` and `name.candidates`, its own or from the rule it shares. Without `proof` nothing could ever enrol, so the ladder has at least one rung.";
    NO_EFFECT = "AX041", "A setting that does nothing here",
        "Two settings contradict each other, or one works only together with another that is not there: `last_by` needs `per: line`, `titled_by` needs `then: whole`, `skip_matching` needs `skip_empty`, `each.column` belongs to SQLite sources, and so on. It is refused because it does not do what was meant.";
    UNREACHABLE = "AX050", "A part that can never be reached",
        "Statuses, kinds and proof rungs are tried in order, and the first that holds decides. What follows one without a condition, or repeats the condition of an earlier one, is never reached.";
    DUPLICATE_CANDIDATE = "AX051", "A name candidate that stands twice",
        "The second candidate reads the same field in the same way, and gives nothing that the first did not give.";
    SEND_WITHOUT_ENROLL = "AX052", "A rung that grants send without enroll",
        "Only an enrolled row can be sent to. Grant both, or none.";
    EMPTY_CONDITION = "AX053", "A condition that tests nothing",
        "An empty `any` never holds, an empty `all` or `{}` always does. Leave `when` out for always.";
    GRANTS_ON_ABSENCE = "AX054", "A rung that grants because something is missing",
        "Dropping a source, a row or a field must never enrol more sessions. A granting rung that asks for `present: false`, `blank: true`, `exists: false` or `not` does: a file that could not be read looks the same as one that is not there. Put the exception into `status` or `kind`, where it bars.";
    BAD_TEMPLATE = "AX060", "A template that cannot be read",
        "`{field}` and `${VARIABLE}` are filled in; `{{` and `}}` are literal braces.";
    BAD_PATTERN = "AX061", "A regular expression that cannot be read",
        "Patterns are those of the Rust regex crate: linear time, no look-around, no back-references. In YAML, write them in single quotes so that backslashes stay.";
    POLICY_MISSING = "AX070", "The policy file is not beside the rule",
        "`policy:` names a `.rhai` file in the folder of the rule.";
    POLICY_SYNTAX = "AX071", "The policy does not compile",
        "The place is where the compiler gave up. Variables have to be declared, and `eval`, `import` and `export` do not exist.";
    POLICY_FIELD = "AX072", "The policy reads a field that no row has",
        "`row` holds the fields of an assembled row, joins as maps. An absent value is `()`; a name that no row has is an error when the script runs, so it is refused now.";
    POLICY_ENTRY = "AX073", "The policy has no `fn review(row, ctx)`",
        "A policy has one entry with two parameters: the row, and a context with what the engine decided so far.";
    POLICY_ANSWER = "AX074", "The policy answers with a key that does not exist",
        "`review` returns nothing, or a map of `veto`, `demote`, `notes` and `aliases`. A script takes away; it cannot grant.";
    POLICY_UNUSED = "AX075", "A policy that the rule does not name",
        "There is a `.rhai` file in the folder, and `policy:` does not name it, so it never runs.";
    IDENTITY_FROM_MODEL = "AX080", "An identity that the model could write",
        "The sender is whoever the provider says is calling. Pointers into `/arguments` or `/name` read what the model wrote; identity comes from `/_meta` or another place that only the host fills.";
    BAD_VERSION_RANGE = "AX081", "A range of versions that is empty",
        "`tested.from` is later than `tested.to`, or one of them is no version such as `1.2.3`.";
    UNTESTED = "AX082", "A rule without a fixture",
        "Nothing says what the rule is expected to do. `axiowl rules capture <provider> --out <folder>/fixtures/<case>` makes a small case out of real files, with every text replaced; `axiowl rules test` runs it.";
    CONFIG_VALUE = "AX090", "A setting in config.yaml that cannot be used",
        "The value has the right type and cannot mean anything: a relative path, an empty or repeated home id, a node name with a colon.";
}

/// Title and explanation of a code.
pub fn explain(code: &str) -> Option<(&'static str, &'static str)> {
    ALL.iter()
        .find(|(known, ..)| *known == code)
        .map(|(_, title, explanation)| (*title, *explanation))
}

/// A message of a type's own `Deserialize` that has a code of its own; [`split`] takes it
/// apart again. (A reader's error can carry nothing but text.)
pub(crate) fn marked(code: &str, message: &str) -> String {
    format!("{code}: {message}")
}

/// The code of a marked message, and the rest.
pub(crate) fn split(message: &str) -> Option<(&'static str, &str)> {
    let (code, rest) = message.split_once(": ")?;
    let (known, ..) = ALL.iter().find(|(known, ..)| *known == code)?;
    Some((known, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_in_order() {
        assert!(ALL.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(
            explain(VALUE).unwrap().0,
            "A value of the wrong type or form"
        );
        assert_eq!(
            split(&marked(BAD_TEMPLATE, "a: b")),
            Some((BAD_TEMPLATE, "a: b"))
        );
        assert_eq!(split("a: b"), None);
    }
}
