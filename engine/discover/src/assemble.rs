//! Puts rows together: sources united, joins, fields in place of missing ones, the filter.

use crate::condition::{Scope, blank, described, text, value};
use crate::coverage::Coverage;
use axiowl_lang::at::At;
use axiowl_lang::cond::Targeted;
use axiowl_lang::fields::{ENGINE_FIELDS, REGISTERED_AS};
use axiowl_lang::load::LoadedRule;
use axiowl_lang::rule::Join;
use axiowl_lang::template::Template;
use axiowl_sources::read::{Table, Tables};
use axiowl_sources::{Name, Row, World};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A row with the session id the rule gives it.
pub struct Assembled {
    pub session: String,
    pub row: Row,
}

/// Rows that stay, and how many were dropped for which reason.
#[derive(Default)]
pub struct Assembly {
    pub rows: Vec<Assembled>,
    pub dropped: BTreeMap<String, usize>,
}

/// The reason of rows that give no session id.
pub const NO_SESSION_ID: &str = "no session id";

/// Unites, joins and filters.
pub fn assemble(
    loaded: &LoadedRule,
    tables: &Tables,
    world: &World,
    coverage: Option<&Coverage>,
) -> Assembly {
    let rows = &loaded.rule.rows;
    let joins = indexes(loaded, tables);
    let first_of = rows.first_of.iter().flatten();
    let made = rows.make.iter().flatten();
    let added = Added {
        first_of: first_of
            .map(|(name, fields)| (Name::from(name), &fields[..]))
            .collect(),
        made: made
            .map(|(name, template)| (Name::from(name), &**template))
            .collect(),
    };
    let registered_as = Name::from(REGISTERED_AS);
    let mut out = Assembly::default();
    let mut given: HashSet<String> = HashSet::new();
    let dropped = rows.filter.as_ref();
    let dropped =
        dropped.map(|filter| format!("not of this surface, which is: {}", described(filter)));
    let mut sources = rows.from.iter().flat_map(|from| from.iter()).peekable();
    while let Some(source) = sources.next() {
        let Some(table) = tables.tables.get(source.value.as_str()) else {
            continue;
        };
        let mut from_here = Vec::new();
        for base in &table.rows {
            let row = complete(base, &joins, &added, tables, world);
            let session = rows
                .session
                .as_ref()
                .and_then(|template| fill(template, &row, tables, world));
            let Some(session) = session.filter(|session| !session.trim().is_empty()) else {
                *out.dropped.entry(NO_SESSION_ID.into()).or_default() += 1;
                continue;
            };
            if given.contains(&session) {
                continue;
            }
            let mut row = row;
            let registered = world.registered_as(bare(&session));
            row.insert(
                registered_as,
                registered.into_iter().map(Value::String).collect(),
            );
            if let Some(filter) = &rows.filter {
                let scope = Scope {
                    row: &row,
                    world,
                    roots: &tables.roots,
                    session: &session,
                    targeted: Targeted::None,
                    words: false,
                    coverage: coverage.map(|coverage| (loaded, coverage)),
                    folders: None,
                    looked: Default::default(),
                };
                if !scope.eval(filter).holds {
                    let reason = dropped.as_deref().unwrap_or_default();
                    match out.dropped.get_mut(reason) {
                        Some(count) => *count += 1,
                        None => drop(out.dropped.insert(reason.to_owned(), 1)),
                    }
                    continue;
                }
            }
            row.shrink();
            from_here.push(Assembled { session, row });
        }
        if sources.peek().is_some() {
            given.extend(from_here.iter().map(|assembled| assembled.session.clone()));
        }
        out.rows.extend(from_here);
    }
    out
}

fn bare(session: &str) -> &str {
    session.rsplit_once(':').map_or(session, |(_, bare)| bare)
}

/// A join with its index over the other source.
struct Indexed<'t> {
    join: &'t Join,
    name: Name,
    table: Option<&'t Table>,
    rows: HashMap<Cow<'t, str>, &'t Row>,
    /// What of a whole document every row gets.
    document: Option<Row>,
}

/// The fields of a document that rows get: all but those that only answer `member_of` and
/// `value_of` joins. Such lists are long, and every row would carry them.
fn shared(loaded: &LoadedRule, join: &Join, document: &Row) -> Row {
    let joins = || loaded.rule.rows.join.iter().flatten();
    let answers = |field: &str| {
        joins().any(|other| {
            let asked = [&other.member_of, &other.value_of];
            let mut asked = asked.into_iter().flatten();
            other.with.value == join.with.value && asked.any(|asked| asked.value == field)
        })
    };
    let named = |field: &str| {
        let full = format!("{}.{field}", join.name.value);
        let script = loaded.policy.as_ref();
        loaded.files.iter().any(|file| file.text.contains(&full))
            || script.is_some_and(|policy| policy.text.contains(field))
    };
    let fields = document.iter();
    let kept = fields.filter(|(field, _)| !answers(field) || named(field));
    kept.map(|(field, value)| (field, value.clone())).collect()
}

fn indexes<'t>(loaded: &'t LoadedRule, tables: &'t Tables) -> Vec<Indexed<'t>> {
    let joins = loaded.rule.rows.join.iter().flatten();
    joins
        .map(|join| {
            let table = tables.tables.get(join.with.value.as_str());
            let whole = join.on.value == "*" || join.member_of.is_some() || join.value_of.is_some();
            let mut index = HashMap::new();
            if let Some(table) = table.filter(|_| !whole) {
                let field = join.to.as_ref().unwrap_or(&join.on);
                for row in &table.rows {
                    if let Some(key) = text(value(row, field)) {
                        index.insert(key, row);
                    }
                }
            }
            let document = table.filter(|_| join.on.value == "*" && !join.exists);
            let document = document.and_then(|table| table.doc.as_ref());
            Indexed {
                join,
                name: Name::from(&join.name.value),
                table,
                rows: index,
                document: document.map(|document| shared(loaded, join, document)),
            }
        })
        .collect()
}

/// What the rule's `let` and `make` add to every row, by shared names.
struct Added<'r> {
    first_of: Vec<(Name, &'r [At<String>])>,
    made: Vec<(Name, &'r Template)>,
}

fn complete(base: &Row, joins: &[Indexed], added: &Added, tables: &Tables, world: &World) -> Row {
    let more = joins.len() + added.first_of.len() + added.made.len() + ENGINE_FIELDS.len();
    let mut row = Row::over(base, more);
    for indexed in joins {
        // A join may go on from what an earlier one brought.
        match joined(indexed, &row) {
            Found::Row(found) => row.join(indexed.name, found),
            Found::Value(found) => set(&mut row, indexed.name, found),
        }
    }
    let replacements = added.first_of.iter().filter_map(|(name, fields)| {
        let mut found = fields.iter().map(|field| (field, value(&row, field)));
        let (field, found) = found.find(|(_, value)| !blank(value))?;
        // Its own value stays where it is.
        (*field.value != **name).then(|| (*name, found.clone()))
    });
    for (name, found) in replacements.collect::<Vec<_>>() {
        row.insert(name, found);
    }
    let made = added
        .made
        .iter()
        .filter_map(|(name, template)| Some((*name, fill(template, &row, tables, world)?)));
    for (name, made) in made.collect::<Vec<_>>() {
        row.insert(name, Value::String(made));
    }
    row
}

/// Sets a field. Null stands for itself only where it hides something.
fn set(row: &mut Row, name: Name, value: Value) {
    if !value.is_null() || row.contains_key(&name) {
        row.insert(name, value);
    }
}

/// What a join brings.
enum Found<'t> {
    Row(&'t Row),
    Value(Value),
}

fn joined<'t>(indexed: &'t Indexed, row: &Row) -> Found<'t> {
    let join = indexed.join;
    let document = indexed.table.and_then(|table| table.doc.as_ref());
    if join.on.value == "*" && join.exists {
        let any = indexed.table.is_some_and(|table| !table.rows.is_empty());
        return Found::Value(Value::Bool(any));
    }
    if join.on.value == "*" {
        let document = indexed.document.as_ref();
        return document.map_or(Found::Value(Value::Null), Found::Row);
    }
    let key = text(value(row, &join.on));
    if let Some(field) = &join.member_of {
        let member = document
            .zip(key.as_deref())
            .is_some_and(|(doc, key)| member(value(doc, field), key));
        return Found::Value(Value::Bool(member));
    }
    if let Some(field) = &join.value_of {
        let found = document
            .zip(key.as_deref())
            .and_then(|(doc, key)| keyed(value(doc, field), key));
        return Found::Value(match found {
            Some(Value::Array(list)) => list.first().cloned().unwrap_or(Value::Null),
            Some(other) => other.clone(),
            None => Value::Null,
        });
    }
    let found = key.and_then(|key| indexed.rows.get(&*key).copied());
    if join.exists {
        return Found::Value(Value::Bool(found.is_some()));
    }
    found.map_or(Found::Value(Value::Null), Found::Row)
}

/// Desktop stores write some ids bare and some behind a host's name.
const HOST: &str = "local:";

fn member(list: &Value, key: &str) -> bool {
    let is_it = |item: &str| item == key || item.strip_prefix(HOST) == Some(key);
    match list {
        Value::Array(items) => items.iter().filter_map(Value::as_str).any(is_it),
        Value::Object(map) => keyed_in(map, key).is_some(),
        _ => false,
    }
}

fn keyed<'v>(map: &'v Value, key: &str) -> Option<&'v Value> {
    keyed_in(map.as_object()?, key)
}

fn keyed_in<'v>(map: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    if map.is_empty() {
        return None;
    }
    map.get(key).or_else(|| map.get(&format!("{HOST}{key}")))
}

/// Fills a template from a row, the roots and the environment.
pub fn fill(template: &Template, row: &Row, tables: &Tables, world: &World) -> Option<String> {
    template.fill(
        |name| {
            let field = value(row, name);
            if blank(field) {
                return tables
                    .roots
                    .get(name)
                    .map(|root| Cow::Borrowed(root.as_str()));
            }
            text(field)
        },
        |name| world.env(name).map(Cow::Borrowed),
    )
}
