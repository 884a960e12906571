//! No text can panic the loader, hang it, or get past it with an operation it should not
//! have: rules and policies mutated by a seeded generator, and arbitrary bytes.

use axiowl_lang::config::Config;
use axiowl_lang::fields::row_fields;
use axiowl_lang::guard::guards;
use axiowl_lang::load::{Layer, RuleFolder, load};
use axiowl_lang::world_spec::WorldSpec;
use axiowl_lang::yaml;

const RULE: &str = include_str!("rules/desk/rule.yaml");
const POLICY: &str = include_str!("rules/desk/policy.rhai");

/// A small generator with a fixed seed: the same texts on every machine.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % sides.max(1)
    }
}

/// Pieces that mean something to YAML, templates, scripts or UTF-8.
const PIECES: [&str; 44] = [
    "{",
    "}",
    "[",
    "]",
    ": ",
    "- ",
    "\n",
    "\n  ",
    "#",
    "&a ",
    "*a",
    "<<: *a",
    "!!str ",
    "|\n",
    ">\n",
    "'",
    "\"",
    "\\",
    "{{",
    "}}",
    "${",
    "{x}",
    "{name}",
    "..",
    "/",
    "~",
    "*",
    "?",
    "é",
    "🛒",
    "\u{feff}",
    "\u{0}",
    "\r\n",
    "\t",
    "true",
    "null",
    "99999999999999999999",
    "-1",
    "---\n",
    "fn ",
    "`${",
    "#{",
    "when",
    "all",
];

fn mutate(text: &str, dice: &mut Dice) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=dice.roll(4) {
        let at = dice.roll(chars.len() + 1);
        let len = dice.roll(40).min(chars.len() - at);
        match dice.roll(5) {
            0 => drop(chars.drain(at..at + len)),
            1 => {
                let piece: Vec<char> = PIECES[dice.roll(PIECES.len())].chars().collect();
                chars.splice(at..at, piece);
            }
            2 => {
                let copy: Vec<char> = chars[at..at + len].to_vec();
                let to = dice.roll(chars.len() + 1);
                chars.splice(to..to, copy);
            }
            3 if at < chars.len() => {
                let other = dice.roll(chars.len());
                chars.swap(at, other);
            }
            _ => {
                let lines: Vec<usize> = chars
                    .iter()
                    .enumerate()
                    .filter_map(|(i, c)| (*c == '\n').then_some(i))
                    .collect();
                if let Some(end) = lines.get(dice.roll(lines.len())) {
                    chars.truncate(*end + 1);
                }
            }
        }
    }
    chars.into_iter().collect()
}

fn examine(rule: &str, policy: &str) -> bool {
    let folder =
        RuleFolder::new("desk", Layer::User, "rules/desk", rule).script("policy.rhai", policy);
    match load(&folder, &|_| None) {
        Ok(loaded) => {
            row_fields(&loaded.rule);
            guards(&loaded.rule);
            for rung in &loaded.rule.proof {
                loaded.place(rung.span);
            }
            true
        }
        Err(errors) => {
            assert!(errors.iter().any(|e| e.is_error()));
            for error in &errors {
                assert!(!error.plain().is_empty());
                assert!(!error.coloured().is_empty());
                error.to_json();
                error.one_line();
            }
            false
        }
    }
}

#[test]
fn mutated_rules_are_loaded_or_refused() {
    let mut dice = Dice(0x5eed_0001);
    let mut good = 0;
    for _ in 0..500 {
        good += usize::from(examine(&mutate(RULE, &mut dice), POLICY));
    }
    // The generator is neither harmless nor always fatal.
    assert!((10..490).contains(&good), "{good}");
}

#[test]
fn mutated_policies_are_compiled_or_refused() {
    let mut dice = Dice(0x5eed_0002);
    let mut good = 0;
    for _ in 0..300 {
        good += usize::from(examine(RULE, &mutate(POLICY, &mut dice)));
    }
    assert!((10..290).contains(&good), "{good}");
}

#[test]
fn arbitrary_text_is_refused() {
    let mut dice = Dice(0x5eed_0003);
    for _ in 0..700 {
        let text: String = (0..dice.roll(60))
            .map(|_| PIECES[dice.roll(PIECES.len())])
            .collect();
        examine(&text, &text);
        let _ = Config::parse("config.yaml", &text);
        let _ = WorldSpec::parse("world.yaml", &text);
        let _ = yaml::to_json(&text, 16);
    }
}
