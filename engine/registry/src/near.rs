//! Names that look like one nobody has. They are offered to a person; nothing here may
//! choose a row.

use axiowl_model::AgentRecord;

const OFFERED: usize = 5;
/// Below this a likeness is noise.
const ALIKE: f64 = 0.6;
/// Longer texts are pasted, not mistyped.
const LONGEST: usize = 200;

/// Names and ids of targets that look like `text`, the most alike first.
pub(crate) fn candidates(rows: &[AgentRecord], text: &str, node: Option<&str>) -> Vec<String> {
    if text.is_empty() || text.len() > LONGEST {
        return Vec::new();
    }
    let wanted = text.to_lowercase();
    let mut found: Vec<(f64, &str)> = Vec::new();
    for row in rows.iter().filter(|row| row.is_target()) {
        if node.is_some_and(|node| node != row.key.node) {
            continue;
        }
        let bare = row.key.bare_session();
        if text.len() >= 6 && bare.starts_with(text) {
            found.push((1.0, &row.key.session));
        } else {
            let likeness = likeness(&wanted, &row.display_name);
            found.extend((likeness >= ALIKE).then_some((likeness, row.display_name.as_str())));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    found.dedup_by(|a, b| a.1 == b.1);
    found
        .into_iter()
        .take(OFFERED)
        .map(|(_, name)| name.to_owned())
        .collect()
}

fn likeness(wanted: &str, name: &str) -> f64 {
    if name.len() > LONGEST {
        return 0.0;
    }
    let name = name.to_lowercase();
    let (short, long) = if wanted.len() < name.len() {
        (wanted, &*name)
    } else {
        (&*name, wanted)
    };
    let (shorter, longer) = (short.chars().count(), long.chars().count());
    if shorter >= 3 && long.contains(short) {
        return 0.9;
    }
    // The edit distance is at least the difference in length.
    if (shorter as f64) < ALIKE * longer as f64 {
        return 0.0;
    }
    1.0 - strsim::osa_distance(short, long) as f64 / longer.max(1) as f64
}
