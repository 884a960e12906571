//! Changes a person or a proven sender makes to one row. Each takes the lock, finds exactly
//! one row or fails, and is written before it returns. Discovery's changes are not here.

use crate::alias::{self, Claim};
use crate::lookup::first_match;
use crate::marks::Mark;
use crate::name::{identity_gap, is_clean_name};
use crate::table::Table;
use crate::{Registry, RegistryError, near};
use axiowl_model::{
    AgentRecord, Issue, MANUAL_SOURCE, MCP_SENDER_SOURCE, SessionKey, Timestamp, codes,
    is_blank_name,
};

/// A row a person adds by hand.
#[derive(Debug, Clone)]
pub struct NewAgent {
    /// The identity.
    pub key: SessionKey,
    /// Its name; discovery will not change it.
    pub display_name: String,
    /// Further names. One that leads elsewhere makes the whole call fail.
    pub aliases: Vec<String>,
    /// Whether messages may be sent; discovery will not change it.
    pub sendable: bool,
    /// The provider home the session lives in, empty for the default one or when unknown.
    pub home: String,
    /// The folder it works in, empty when unknown.
    pub cwd: String,
    /// The time of the call.
    pub now: Timestamp,
}

/// A session that a provider proved to be calling.
#[derive(Debug, Clone)]
pub struct SenderRegistration {
    /// The identity, from the provider's own metadata.
    pub key: SessionKey,
    /// The name that came with it, if any did.
    pub display_name: Option<String>,
    /// A sender address of its own, apart from the session id.
    pub address: Option<String>,
    /// How strong the proof is, as the rule calls it; empty when nobody says.
    pub class: String,
    /// The proof also shows that the session can be sent to. Without it a new row is known
    /// and no target, and an old one stays as it is.
    pub sendable: bool,
    /// The time of the call.
    pub now: Timestamp,
}

/// What a change did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The row as it is now; after a removal, as it was.
    pub row: AgentRecord,
    /// The row as it was; `None` when it is new.
    pub before: Option<AgentRecord>,
    /// Aliases that were refused and lines that were set aside.
    pub issues: Vec<Issue>,
}

impl Registry {
    /// Adds a row by hand, or takes an existing one under a person's protection.
    ///
    /// # Errors
    /// An incomplete identity, a name that is none, an alias that leads elsewhere, or the
    /// file system.
    pub fn add_agent(&self, new: &NewAgent) -> Result<Edited, RegistryError> {
        check_identity(&new.key)?;
        check_name(&new.display_name, &new.key)?;
        self.edit(|table| {
            let (at, before) = find_or_add(table, &new.key, &new.display_name, new.now);
            let row = &mut table.rows[at];
            set_name(row, &new.display_name);
            row.source = MANUAL_SOURCE.into();
            row.enabled = true;
            row.sendable = new.sendable;
            row.last_error.clear();
            for mark in [Mark::WeakName, Mark::PinnedName, Mark::Targeted] {
                mark.set(row, false);
            }
            for (field, given) in [(&mut row.home, &new.home), (&mut row.cwd, &new.cwd)] {
                if !given.is_empty() {
                    field.clone_from(given);
                }
            }
            alias::add_own(row);
            for alias in &new.aliases {
                claim(table, &new.key, alias)?;
            }
            Ok((at, before, Vec::new()))
        })
    }

    /// Gives a row another name, which discovery then keeps. The old one becomes an alias.
    ///
    /// # Errors
    /// No row or several, a name that is none, or the file system.
    pub fn rename(
        &self,
        target: &str,
        node: Option<&str>,
        name: &str,
    ) -> Result<Edited, RegistryError> {
        self.edit_one(target, node, |row| {
            check_name(name, &row.key)?;
            set_name(row, name);
            Mark::WeakName.set(row, false);
            let manual = row.is_manual();
            Mark::PinnedName.set(row, !manual);
            alias::add_own(row);
            Ok(())
        })
    }

    /// Gives a row a further name.
    ///
    /// # Errors
    /// No row or several, an alias that leads elsewhere, or the file system.
    pub fn add_alias(
        &self,
        target: &str,
        node: Option<&str>,
        alias: &str,
    ) -> Result<Edited, RegistryError> {
        self.edit(|table| {
            let at = find_one(table, target, node)?;
            let before = Some(table.rows[at].clone());
            let key = table.rows[at].key.clone();
            claim(table, &key, alias)?;
            Ok((at, before, Vec::new()))
        })
    }

    /// Takes an alias off a row. One that follows from the row's name or id comes back with
    /// the next discovery.
    ///
    /// # Errors
    /// No row or several, no such alias, or the file system.
    pub fn remove_alias(
        &self,
        target: &str,
        node: Option<&str>,
        alias: &str,
    ) -> Result<Edited, RegistryError> {
        let alias = alias.trim();
        self.edit_one(target, node, |row| {
            let Some(at) = row.aliases.iter().position(|known| known.trim() == alias) else {
                let agent = row.agent_id();
                return Err(RegistryError::NoSuchAlias {
                    agent,
                    alias: alias.to_owned(),
                });
            };
            row.aliases.remove(at);
            Ok(())
        })
    }

    /// Switches a row on or off. Discovery leaves this switch alone.
    ///
    /// # Errors
    /// No row or several, or the file system.
    pub fn set_enabled(
        &self,
        target: &str,
        node: Option<&str>,
        enabled: bool,
    ) -> Result<Edited, RegistryError> {
        self.edit_one(target, node, |row| {
            row.enabled = enabled;
            Ok(())
        })
    }

    /// Removes a row. A discovery that still finds the session brings it back; switching it
    /// off with [`Registry::set_enabled`] does last.
    ///
    /// # Errors
    /// No row or several, or the file system.
    pub fn remove(&self, target: &str, node: Option<&str>) -> Result<Edited, RegistryError> {
        let ((row, before), issues) = self.update(|table| {
            let at = find_one(table, target, node)?;
            let row = table.rows.remove(at);
            Ok((row.clone(), Some(row)))
        })?;
        Ok(Edited {
            row,
            before,
            issues,
        })
    }

    /// Registers a session that a provider proved as a sender, with `source`
    /// `mcp_sender_identity`; a manual row stays manual. The address becomes an alias unless
    /// it leads elsewhere, which is then an issue and no error.
    ///
    /// A name given here fills in for none or a weak one; the strong name a discovery read
    /// from the provider's own store stays.
    ///
    /// # Errors
    /// An incomplete identity, no usable name for a row that is not there yet, or the file
    /// system.
    pub fn register_sender(&self, sender: &SenderRegistration) -> Result<Edited, RegistryError> {
        check_identity(&sender.key)?;
        let name = sender.display_name.as_deref().map(str::trim);
        let usable = name.filter(|name| is_clean_name(name, &sender.key));
        self.edit(|table| {
            let exists = table.rows.iter().any(|row| row.key == sender.key);
            if usable.is_none() && !exists {
                check_name(name.unwrap_or_default(), &sender.key)?;
            }
            let first_name = usable.unwrap_or_default();
            let (at, before) = find_or_add(table, &sender.key, first_name, sender.now);
            let row = &mut table.rows[at];
            let named_elsewhere = is_clean_name(&row.display_name, &row.key)
                && !Mark::WeakName.on(row)
                && (row.is_manual() || Mark::PinnedName.on(row) || discovered(row));
            if let Some(name) = usable.filter(|_| !named_elsewhere) {
                set_name(row, name);
                Mark::WeakName.set(row, false);
            }
            row.last_seen_at = row.last_seen_at.max(Some(sender.now));
            if !row.is_manual() {
                row.source = MCP_SENDER_SOURCE.into();
                // The class of the proof stands in the row (A10), unless discovery's does.
                if !discovered(row) && !sender.class.is_empty() {
                    row.proof = format!("{MCP_SENDER_SOURCE}:{}", sender.class);
                }
                if sender.sendable && !row.sendable {
                    row.sendable = true;
                    if row.proof.is_empty() || discovered(row) {
                        row.proof = MCP_SENDER_SOURCE.into();
                    }
                    row.last_error.clear();
                }
            }
            alias::add_own(row);
            let mut issues = Vec::new();
            let address = sender
                .address
                .as_deref()
                .filter(|text| !is_blank_name(text));
            if let Some(Err(refused)) = address.map(|text| claim(table, &sender.key, text)) {
                issues.push(Issue::new(codes::ALIAS_REFUSED, refused.to_string()));
            }
            Ok((at, before, issues))
        })
    }

    fn edit(
        &self,
        change: impl FnOnce(&mut Table) -> Result<Place, RegistryError>,
    ) -> Result<Edited, RegistryError> {
        let ((row, before, mut issues), damaged) = self.update(|table| {
            let (at, before, issues) = change(table)?;
            Ok((table.rows[at].clone(), before, issues))
        })?;
        issues.extend(damaged);
        Ok(Edited {
            row,
            before,
            issues,
        })
    }

    fn edit_one(
        &self,
        target: &str,
        node: Option<&str>,
        change: impl FnOnce(&mut AgentRecord) -> Result<(), RegistryError>,
    ) -> Result<Edited, RegistryError> {
        self.edit(|table| {
            let at = find_one(table, target, node)?;
            let before = table.rows[at].clone();
            change(&mut table.rows[at])?;
            Ok((at, Some(before), Vec::new()))
        })
    }
}

/// Where the changed row stands, what it was, and what was refused.
type Place = (usize, Option<AgentRecord>, Vec<Issue>);

fn discovered(row: &AgentRecord) -> bool {
    !row.proof.is_empty() && !row.proof.starts_with(MCP_SENDER_SOURCE)
}

/// The one row a target means. A change must not pick among several, sendable or not.
fn find_one(table: &Table, target: &str, node: Option<&str>) -> Result<usize, RegistryError> {
    let target = target.trim();
    let Some((_, found)) = first_match(&table.rows, target, node) else {
        let near = near::candidates(&table.rows, target, node);
        return Err(RegistryError::NoSuchAgent {
            target: target.to_owned(),
            near,
        });
    };
    match found.as_slice() {
        [one] => Ok(table
            .rows
            .iter()
            .position(|row| row.key == one.key)
            .unwrap_or_default()),
        several => Err(RegistryError::Ambiguous {
            target: target.to_owned(),
            agents: several.iter().map(|row| row.agent_id()).collect(),
        }),
    }
}

fn find_or_add(
    table: &mut Table,
    key: &SessionKey,
    name: &str,
    now: Timestamp,
) -> (usize, Option<AgentRecord>) {
    if let Some(at) = table.rows.iter().position(|row| row.key == *key) {
        return (at, Some(table.rows[at].clone()));
    }
    let mut row = AgentRecord::new(key.clone(), name.trim());
    row.first_seen_at = Some(now);
    table.rows.push(row);
    (table.rows.len() - 1, None)
}

fn set_name(row: &mut AgentRecord, name: &str) {
    let before = std::mem::replace(&mut row.display_name, name.trim().to_owned());
    if before != row.display_name {
        alias::add(row, &before);
    }
}

/// Adds an alias of free text, or says whose it is.
fn claim(table: &mut Table, by: &SessionKey, alias: &str) -> Result<(), RegistryError> {
    let alias = alias.trim().to_owned();
    if is_blank_name(&alias) {
        let problem = "nothing of it would show".to_owned();
        return Err(RegistryError::AliasRefused { alias, problem });
    }
    let claims = vec![Claim {
        by: by.clone(),
        alias,
    }];
    match alias::settle(&mut table.rows, claims).pop() {
        None => Ok(()),
        Some((Claim { alias, .. }, problem)) => Err(RegistryError::AliasRefused { alias, problem }),
    }
}

fn check_identity(key: &SessionKey) -> Result<(), RegistryError> {
    match identity_gap(key) {
        None => Ok(()),
        Some(problem) => Err(RegistryError::BadIdentity {
            key: key.to_string(),
            problem,
        }),
    }
}

fn check_name(name: &str, key: &SessionKey) -> Result<(), RegistryError> {
    if is_clean_name(name, key) {
        return Ok(());
    }
    let problem = match is_blank_name(name) {
        true => "nothing of it would show",
        false => "it looks like a session id",
    };
    Err(RegistryError::UnusableName {
        name: name.to_owned(),
        problem,
    })
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
