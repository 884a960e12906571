//! The reports of several homes of one provider as one.

use crate::run::Report;

impl Report {
    /// Adds what another home of the same provider gave. The worse verdict counts, and
    /// absence means something only where every home could be read.
    pub fn absorb(&mut self, other: Self) {
        self.agents.extend(other.agents);
        self.agents
            .sort_by(|a, b| (&a.key, &a.home).cmp(&(&b.key, &b.home)));
        for (reason, count) in other.dropped {
            *self.dropped.entry(reason).or_default() += count;
        }
        self.issues.extend(other.issues);
        self.issues.sort();
        self.issues.dedup();
        self.gaps.add(&other.gaps);
        self.verdict = self.verdict.max(other.verdict);
        self.complete &= other.complete;
        self.targeted |= other.targeted;
        self.present |= other.present;
        for (name, count) in other.sources {
            let own = self.sources.entry(name).or_default();
            own.files_matched += count.files_matched;
            own.files_read += count.files_read;
            own.rows += count.rows;
        }
    }
}
