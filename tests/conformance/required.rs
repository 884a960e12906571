//! The numbers: which exist, which must be covered, which may be put off. Data only; what each
//! says is not known here.

use std::collections::BTreeSet;

/// Letter, digits of a number as written, first, last.
type Range = (char, usize, u32, u32);

/// Every number of the specification: statements, annex A, annex C.
const KNOWN: [Range; 3] = [('C', 3, 1, 470), ('A', 1, 1, 28), ('X', 2, 1, 27)];

/// The numbers a test has to name.
const REQUIRED: [Range; 11] = [
    // Sections 1 to 13.
    ('C', 3, 1, 168),
    // Sections 15 to 17.
    ('C', 3, 193, 234),
    // Sections 18 to 30.
    ('C', 3, 235, 347),
    // Sections 31 to 33.
    ('C', 3, 348, 373),
    // Sections 34 and 35.
    ('C', 3, 374, 409),
    // Of section 36.
    ('C', 3, 411, 414),
    // Section 37.
    ('C', 3, 417, 430),
    // Section 39.
    ('C', 3, 437, 466),
    // After annex A.
    ('C', 3, 467, 470),
    // Annex A.
    ('A', 1, 1, 28),
    // Annex C.
    ('X', 2, 1, 27),
];

/// What an annex row or the product's section 11 puts off or replaces: bridges and the routes
/// that need one, nodes, the session library, and what annex A met in another way.
const LATER: [Range; 15] = [
    ('C', 3, 176, 176),
    ('C', 3, 277, 277),
    ('C', 3, 300, 300),
    ('C', 3, 314, 314),
    ('C', 3, 345, 346),
    ('C', 3, 375, 376),
    ('C', 3, 394, 394),
    ('C', 3, 410, 410),
    ('C', 3, 415, 416),
    ('C', 3, 431, 436),
    ('C', 3, 457, 465),
    // Restoring hidden sessions; and the row that only says which text wins.
    ('A', 1, 17, 17),
    ('A', 1, 26, 26),
    // The running app's answer before a delivery: the route of antigravity.
    ('A', 1, 7, 7),
    // The same route's `agentapi`.
    ('X', 2, 14, 14),
];

fn numbers(ranges: &[Range]) -> BTreeSet<String> {
    let each = |&(letter, width, first, last): &Range| {
        (first..=last).map(move |number| format!("{letter}{number:0width$}"))
    };
    ranges.iter().flat_map(each).collect()
}

/// Every number there is.
pub fn known() -> BTreeSet<String> {
    numbers(&KNOWN)
}

/// Every number a test has to name.
pub fn required() -> BTreeSet<String> {
    numbers(&REQUIRED)
}

/// Whether a number may be claimed as later work or as not applicable.
pub fn may_be_later(number: &str) -> bool {
    numbers(&LATER).contains(number)
}
