//! Rhai, for what data cannot say: compiling a policy and the engine it may run on.
//!
//! A policy gets a row and a context and can only take away; what becomes of its answer
//! is decided by discovery. This module knows no row and runs no script itself.

pub(crate) mod reads;

use crate::codes;
use crate::diag::{Diagnostic, SourceText, byte_at};
use rhai::packages::{Package, StandardPackage};
use rhai::{AST, Engine, EvalAltResult, OptimizationLevel, Position};
use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::time::Duration;

/// The function a policy must have.
pub const ENTRY: &str = "review";
/// Its parameters, as they are called in messages.
pub const ENTRY_SHAPE: &str = "fn review(row, ctx)";
/// What its answer may hold.
pub const ANSWER_KEYS: [&str; 4] = ["veto", "demote", "notes", "aliases"];
/// A script may be this many bytes long.
pub const MAX_SCRIPT_BYTES: usize = 64 << 10;
/// The texts of one value a script makes or calls a function on may be this many bytes long
/// together. One operation may look through a whole text, so their number alone bounds no time.
pub const MAX_TEXT_BYTES: usize = 16 << 10;
/// A script may take this long for one row. Its operations end it long before on any machine,
/// unless each of them is a slow one.
pub const ROW_TIME: Duration = Duration::from_millis(100);
/// A script may take this long in one run over and above [`QUICK`] for each row.
pub const RUN_TIME: Duration = Duration::from_secs(2);
/// What takes no longer than this for a row does not count, so that many sessions and an
/// honest script never run out of time.
pub const QUICK: Duration = Duration::from_millis(1);

/// A policy, compiled when it is read; that of a compiled-in rule when it is first run, since
/// tests have compiled it and most commands run none. It runs on an engine of
/// [`limited_engine`], one per thread.
#[derive(Debug, Clone)]
pub struct CompiledPolicy {
    ast: OnceLock<AST>,
    /// Its text.
    pub text: String,
    /// Its place among the loaded rule's files.
    pub file: u16,
}

/// An engine under the limits of the rule language.
///
/// Operations, call depth, text, list and map sizes are bounded, so every script ends, in
/// an error where it goes beyond; how soon is bounded by whoever runs it ([`ROW_TIME`]). There are no modules, no `eval`, no clock, no output.
/// Absent variables and map properties are errors, so that a typo cannot pass for "no".
///
/// Building one costs about 0.3 ms: build one per thread, not per row. Sharing one between
/// threads is slower than having two.
pub fn limited_engine() -> Engine {
    let mut engine = Engine::new_raw();
    engine.register_global_module(StandardPackage::new().as_shared_module());
    // `Full` would run the script while compiling it; `None` keeps every literal in the
    // tree, which is what the lints read.
    engine.set_optimization_level(OptimizationLevel::None);
    engine
        .set_max_operations(20_000)
        .set_max_call_levels(16)
        .set_max_expr_depths(48, 32)
        .set_max_string_size(MAX_TEXT_BYTES)
        // Nested sizes add up, so these bound the depth of a value too: dropping and measuring
        // one takes a stack frame a level.
        .set_max_array_size(1_024)
        .set_max_map_size(512)
        .set_max_functions(64)
        .set_max_variables(128)
        .set_max_modules(0)
        .set_strict_variables(true)
        .set_fail_on_invalid_map_property(true);
    // `curry` could nest a function in a function without any limit seeing it.
    for word in ["eval", "import", "export", "curry"] {
        engine.disable_symbol(word);
    }
    // The core package has a real `sleep`, which no limit on operations would end.
    engine.register_fn("sleep", |_: rhai::INT| no_sleep());
    engine.register_fn("sleep", |_: rhai::FLOAT| no_sleep());
    engine.on_print(|_| {});
    engine.on_debug(|_, _, _| {});
    engine
}

fn no_sleep() -> Result<(), Box<EvalAltResult>> {
    Err("a policy cannot sleep".into())
}

impl CompiledPolicy {
    /// Compiles a script; `file` is its place among the rule's files.
    pub fn compile(source: &SourceText, file: u16) -> Result<Self, Diagnostic> {
        let text = &source.text;
        if text.len() > MAX_SCRIPT_BYTES {
            let message = format!(
                "the policy has {} bytes; at most {MAX_SCRIPT_BYTES} are read",
                text.len()
            );
            return Err(Diagnostic::error(codes::TOO_LARGE, message)
                .at(source, 0..0, "")
                .help("a policy says what data cannot; put the rest into the rule"));
        }
        match limited_engine().compile(&**text) {
            Ok(ast) => Ok(Self {
                ast: OnceLock::from(ast),
                text: text.to_string(),
                file,
            }),
            Err(error) => {
                let start = offset(text, error.position());
                let end = start + text[start..].chars().next().map_or(0, char::len_utf8);
                let message = format!("the policy does not compile: {}", error.err_type());
                Err(Diagnostic::error(codes::POLICY_SYNTAX, message)
                    .at(source, start..end, "here")
                    .help("policies are Rhai scripts: https://rhai.rs/book/language"))
            }
        }
    }

    /// The policy of a compiled-in rule.
    pub(crate) fn known_good(source: &SourceText, file: u16) -> Self {
        Self {
            ast: OnceLock::new(),
            text: source.text.to_string(),
            file,
        }
    }

    /// The script, compiled.
    ///
    /// # Errors
    /// When it does not compile; only that of a compiled-in rule can be found out here.
    pub fn ast(&self) -> Result<&AST, String> {
        if let Some(ast) = self.ast.get() {
            return Ok(ast);
        }
        let ast = limited_engine().compile(&self.text);
        let ast = ast.map_err(|error| format!("the policy does not compile: {error}"))?;
        Ok(self.ast.get_or_init(|| ast))
    }

    /// The fields of the row that the script can read; `None` where its text alone does not tell,
    /// since it uses the row as a whole.
    pub fn fields(&self) -> Option<BTreeSet<String>> {
        reads::fields(self.ast().ok()?)
    }
}

/// The byte a position of the script stands at; its end where there is none.
pub fn offset(text: &str, position: Position) -> usize {
    match (position.line(), position.position()) {
        (Some(line), column) => byte_at(text, line, column.unwrap_or(1)),
        _ => text.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rhai::{Dynamic, Map, Scope};

    /// Half the stack of an ordinary thread, so that a debug build shows a margin.
    fn run(script: &str) -> Result<Dynamic, String> {
        let script = script.to_owned();
        let thread = std::thread::Builder::new().stack_size(1 << 20);
        let run = move || {
            let source = SourceText::new("policy.rhai", &script);
            let policy = CompiledPolicy::compile(&source, 1).map_err(|d| d.message)?;
            let args = (Map::new(), Map::new());
            limited_engine()
                .call_fn::<Dynamic>(&mut Scope::new(), policy.ast()?, ENTRY, args)
                .map_err(|e| e.to_string())
        };
        thread.spawn(run).unwrap().join().unwrap()
    }

    #[test]
    fn an_ordinary_policy_runs() {
        let answer =
            run("fn review(row, ctx) { if row.len() == 0 { return #{ veto: `n${1 + 1}` }; } }");
        let map = answer.unwrap().cast::<Map>();
        assert_eq!(map["veto"].clone().into_string().unwrap(), "n2");
    }

    #[test]
    fn every_bomb_ends_in_an_error() {
        let bombs = [
            "fn f(n) { f(n + 1) } fn review(row, ctx) { f(0) }",
            "fn f(n) { if n > 0 { f(n - 1); f(n - 1); } } fn review(row, ctx) { f(14); f(14); }",
            "fn review(row, ctx) { loop { } }",
            "fn review(row, ctx) { while true { let x = 1; } }",
            "fn review(row, ctx) { let s = \"aaaaaaaa\"; loop { s += s; } }",
            "fn review(row, ctx) { let s = \"\"; s.pad(1000000000, \"x\"); s }",
            "fn review(row, ctx) { let a = [1]; loop { a += a; } }",
            "fn review(row, ctx) { let a = []; a.pad(1000000000, 1); a }",
            "fn review(row, ctx) { let a = [1]; loop { a = [a, a]; } }",
            "fn review(row, ctx) { let m = #{}; let i = 0; loop { m[`k${i}`] = m; i += 1; } }",
            "fn review(row, ctx) { let b = blob(1000000000); b }",
            "fn review(row, ctx) { let x = 0; for i in 0..9223372036854775807 { x += i; } }",
            "fn review(row, ctx) { let f = |x| this.call(x); f.call(f) }",
            "fn review(row, ctx) { let f = Fn(\"review\"); f.call(row, ctx) }",
            "fn review(row, ctx) { row.absent }",
            "fn review(row, ctx) { absent }",
            "fn review(row, ctx) { eval(\"1\") }",
            "import \"x\" as x; fn review(row, ctx) { }",
            "fn review(row, ctx) { sleep(10) }",
            "fn review(row, ctx) { sleep(10.0) }",
            "fn review(row, ctx) { let f = Fn(\"sleep\"); f.call(10) }",
            "fn review(row, ctx) { let a = []; loop { a = [a]; } }",
            "fn review(row, ctx) { let m = #{}; loop { m = #{ m: m }; } }",
            "fn review(row, ctx) { let f = || 1; loop { let g = f; f = || g.call(); } }",
            "fn f(a) { a.map(|x| f([x, x])) } fn review(row, ctx) { f([1]) }",
            "fn f(a) { a.filter(|x| f([x])) } fn review(row, ctx) { f([1]) }",
            "fn review(row, ctx) { let a = []; for i in 0..1100 { a.push(i); } a }",
            "fn review(row, ctx) { let a = []; for i in 0..1100 { a.push([a]); } a }",
            "fn review(row, ctx) { let a = []; for i in 0..1100 { let b = []; b.push(a); a = b; } a }",
            "fn review(row, ctx) { let a = []; for i in 0..1100 { let b = []; b.insert(0, a); a = b; } a }",
            "fn review(row, ctx) { let m = #{}; for i in 0..1100 { let b = #{}; b.set(\"x\", m); m = b; } m }",
            "fn review(row, ctx) { let m = #{}; for i in 0..1100 { let b = #{}; b.mixin(#{ x: m }); m = b; } m }",
            "fn review(row, ctx) { let m = #{}; for i in 0..1100 { let b = #{}; b += #{ x: m }; m = b; } m }",
            "fn review(row, ctx) { let s = \"x\"; for i in 0..20 { s = `${s}${s}`; } s }",
            "fn review(row, ctx) { let f = Fn(\"len\"); loop { f = f.curry(f); } }",
            "fn review(row, ctx) { let s = \"[\"; s.pad(60000, '['); parse_json(s) }",
            "fn review(row, ctx) { timestamp() }",
            "fn review(row, ctx) { 9223372036854775807 + 1 }",
            "fn review(row, ctx) { 1 / 0 }",
        ];
        for bomb in bombs {
            assert!(run(bomb).is_err(), "{bomb}");
        }
    }

    #[test]
    fn deep_and_long_scripts_end_in_an_error_or_compile() {
        let nested = |open: &str, close: &str| {
            let body = format!("{}1{}", open.repeat(5_000), close.repeat(5_000));
            format!("fn review(row, ctx) {{ {body} }}")
        };
        for (open, close) in [("(", ")"), ("[", "]"), ("{", "}"), ("!", ""), ("-", "")] {
            assert!(run(&nested(open, close)).is_err(), "{open}");
        }
        assert!(run(&nested("if true {", "}")).is_err());
        assert!(run(&nested("#{a:", "}")).is_err());
        assert!(run(&nested("`${", "}`")).is_err());
        assert!(
            run(&format!(
                "fn review(row, ctx) {{ {} }}",
                "1+".repeat(20_000)
            ))
            .is_err()
        );
        let chain = format!("fn review(row, ctx) {{ row{} }}", ".a".repeat(20_000));
        assert!(run(&chain).is_err());
        assert!(run(&"x".repeat(MAX_SCRIPT_BYTES + 1)).is_err());
    }

    #[test]
    fn printing_says_nothing_and_costs_nothing() {
        assert!(run("fn review(row, ctx) { print(\"x\"); debug(\"y\"); }").is_ok());
    }
}
