//! The columns of the table and what stands in them: one line to one row and back. Knows
//! nothing of files.

use crate::field::{escape_into, unescape};
use crate::name::identity_gap;
use crate::stamp;
use axiowl_model::{AgentRecord, LOCAL_NODE, SessionKey, Timestamp};
use std::borrow::Cow;

/// A documented column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    AgentId,
    DisplayName,
    Aliases,
    Provider,
    Session,
    Node,
    Enabled,
    Sendable,
    Source,
    Proof,
    Home,
    Cwd,
    FirstSeen,
    LastSeen,
    LastVerified,
    LastError,
}

/// The documented columns with their names, in the order of a new table.
pub(crate) const HEADER: [(Field, &str); 16] = [
    (Field::AgentId, "agent_id"),
    (Field::DisplayName, "display_name"),
    (Field::Aliases, "aliases"),
    (Field::Provider, "provider"),
    (Field::Session, "provider_session_id"),
    (Field::Node, "node_id"),
    (Field::Enabled, "enabled"),
    (Field::Sendable, "sendable"),
    (Field::Source, "source"),
    (Field::Proof, "proof"),
    (Field::Home, "home"),
    (Field::Cwd, "cwd"),
    (Field::FirstSeen, "first_seen_at"),
    (Field::LastSeen, "last_seen_at"),
    (Field::LastVerified, "last_verified_at"),
    (Field::LastError, "last_error"),
];

/// A column of a file: documented, or of a newer AxiOwl and kept as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Column {
    Known(Field, &'static str),
    Extra(String),
}

impl Column {
    pub(crate) fn named(name: &str) -> Self {
        match HEADER.iter().find(|(_, known)| *known == name) {
            Some((field, known)) => Self::Known(*field, known),
            None => Self::Extra(name.to_owned()),
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Known(_, name) => name,
            Self::Extra(name) => name,
        }
    }

    pub(crate) fn is_agent_id(&self) -> bool {
        matches!(self, Self::Known(Field::AgentId, _))
    }

    /// May be absent at the end of a line: an editor that trims line ends eats the tabs
    /// before empty fields.
    fn is_optional(&self) -> bool {
        matches!(
            self,
            Self::Extra(_) | Self::Known(Field::LastVerified | Field::LastError, _)
        )
    }
}

/// Reads one line, or says what is wrong with it.
pub(crate) fn parse_row(columns: &[Column], line: &str) -> Result<AgentRecord, String> {
    let key = SessionKey {
        provider: String::new(),
        node: String::new(),
        session: String::new(),
    };
    let mut row = AgentRecord::new(key, String::new());
    let mut agent_id = Cow::Borrowed("");
    let escaped = memchr::memchr(b'\\', line.as_bytes()).is_some();
    let mut fields = memchr::memchr_iter(b'\t', line.as_bytes())
        .chain([line.len()])
        .scan(0, |from, end| {
            Some(&line[std::mem::replace(from, end + 1)..end])
        });
    for column in columns {
        let Some(field) = fields.next() else {
            if column.is_optional() {
                continue;
            }
            return Err(format!("it ends before the column {}", column.name()));
        };
        let bad =
            |problem: &dyn std::fmt::Display| format!("in column {} {problem}", column.name());
        let value = match escaped {
            true => unescape(field).map_err(|e| bad(&e))?,
            false => Cow::Borrowed(field),
        };
        let time = |value: &str| match value {
            "" => Ok(None),
            text => stamp::parse(text).map(Some).map_err(|e| bad(&e)),
        };
        let flag = |value: &str, default| match value {
            "true" => Ok(true),
            "false" => Ok(false),
            "" => Ok(default),
            other => Err(bad(&format_args!("`{other}` is neither true nor false"))),
        };
        let field = match column {
            Column::Known(field, _) => *field,
            Column::Extra(_) if value.is_empty() => continue,
            Column::Extra(name) => {
                row.extra.push((name.clone(), value.into_owned()));
                continue;
            }
        };
        match field {
            Field::AgentId => agent_id = value,
            Field::DisplayName => row.display_name = value.into_owned(),
            Field::Aliases => row.aliases = parse_aliases(&value).map_err(|e| bad(&e))?,
            Field::Provider => row.key.provider = value.into_owned(),
            Field::Session => row.key.session = value.into_owned(),
            Field::Node => row.key.node = value.into_owned(),
            Field::Enabled => row.enabled = flag(&value, true)?,
            Field::Sendable => row.sendable = flag(&value, false)?,
            Field::Source => row.source = value.into_owned(),
            Field::Proof => row.proof = value.into_owned(),
            Field::Home => row.home = value.into_owned(),
            Field::Cwd => row.cwd = value.into_owned(),
            Field::FirstSeen => row.first_seen_at = time(&value)?,
            Field::LastSeen => row.last_seen_at = time(&value)?,
            Field::LastVerified => row.last_verified_at = time(&value)?,
            Field::LastError => row.last_error = value.into_owned(),
        }
    }
    if fields.next().is_some() {
        return Err("it has more fields than the header has columns".into());
    }
    identify(row, &agent_id)
}

/// Brings `agent_id` and the three columns it is made of together.
fn identify(mut row: AgentRecord, agent_id: &str) -> Result<AgentRecord, String> {
    let SessionKey {
        provider,
        node,
        session,
    } = &row.key;
    let rest = agent_id
        .strip_prefix(provider.as_str())
        .and_then(|rest| rest.strip_prefix(':'));
    let rest = rest.and_then(|rest| rest.strip_prefix(node.as_str())?.strip_prefix(':'));
    if rest != Some(session.as_str()) && !agent_id.is_empty() {
        let Some(id) = SessionKey::parse(agent_id) else {
            return Err(format!("agent_id `{agent_id}` is no provider:node:session"));
        };
        let fill = |part: &mut String, from: String| {
            if part.is_empty() {
                *part = from;
            }
        };
        fill(&mut row.key.provider, id.provider);
        fill(&mut row.key.node, id.node);
        fill(&mut row.key.session, id.session);
        if row.key.to_string() != agent_id {
            return Err(format!("agent_id `{agent_id}` is not `{}`", row.key));
        }
    }
    if row.key.node.is_empty() {
        row.key.node.push_str(LOCAL_NODE);
    }
    match identity_gap(&row.key) {
        Some(problem) => Err(problem.into()),
        None => Ok(row),
    }
}

fn parse_aliases(value: &str) -> Result<Vec<String>, &'static str> {
    match plain_aliases(value) {
        Some(aliases) => Ok(aliases),
        None if value.is_empty() || value == "[]" => Ok(Vec::new()),
        None => serde_json::from_str(value).map_err(|_| "there is no JSON array of texts"),
    }
}

/// The array as this table writes it, with nothing escaped in it: every quote is a border.
/// `None` leaves it to the JSON reader.
fn plain_aliases(value: &str) -> Option<Vec<String>> {
    if value.bytes().any(|b| b == b'\\' || b < b' ') {
        return None;
    }
    let mut aliases = Vec::with_capacity(4);
    let mut before = "[";
    let mut from = 0;
    let mut quotes = memchr::memchr_iter(b'"', value.as_bytes());
    while let Some(open) = quotes.next() {
        if &value[from..open] != before {
            return None;
        }
        let close = quotes.next()?;
        aliases.push(value[open + 1..close].to_owned());
        (before, from) = (",", close + 1);
    }
    (&value[from..] == "]").then_some(aliases)
}

/// Appends the field of a row that stands in that column.
pub(crate) fn write_field(out: &mut String, row: &AgentRecord, column: &Column) {
    let mut time = |time: Option<Timestamp>| {
        if let Some(time) = time {
            stamp::write(out, time);
        }
    };
    let field = match column {
        Column::Known(field, _) => *field,
        Column::Extra(name) => {
            let value = row.extra.iter().find(|(column, _)| column == name);
            return escape_into(out, value.map_or("", |(_, value)| value));
        }
    };
    match field {
        Field::FirstSeen => time(row.first_seen_at),
        Field::LastSeen => time(row.last_seen_at),
        Field::LastVerified => time(row.last_verified_at),
        Field::AgentId => {
            for part in [&row.key.provider, ":", &row.key.node, ":", &row.key.session] {
                escape_into(out, part);
            }
        }
        Field::Aliases => match serde_json::to_string(&row.aliases) {
            Ok(json) => escape_into(out, &json),
            // Texts always have a JSON form.
            Err(_) => out.push_str("[]"),
        },
        Field::Enabled => out.push_str(if row.enabled { "true" } else { "false" }),
        Field::Sendable => out.push_str(if row.sendable { "true" } else { "false" }),
        Field::DisplayName => escape_into(out, &row.display_name),
        Field::Provider => escape_into(out, &row.key.provider),
        Field::Session => escape_into(out, &row.key.session),
        Field::Node => escape_into(out, &row.key.node),
        Field::Source => escape_into(out, &row.source),
        Field::Proof => escape_into(out, &row.proof),
        Field::Home => escape_into(out, &row.home),
        Field::Cwd => escape_into(out, &row.cwd),
        Field::LastError => escape_into(out, &row.last_error),
    }
}
