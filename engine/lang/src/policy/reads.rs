//! What a script reads of its row, as far as its text alone tells.

use super::ENTRY;
use rhai::{AST, ASTNode, Expr, Position};
use std::collections::BTreeSet;

/// A chain of names read from a variable: `row.head.name` is head, name.
pub(crate) type Chain = Vec<(String, Position)>;

/// Every chain that starts at a variable.
pub(crate) fn chains(ast: &AST, variable: &str) -> Vec<Chain> {
    let mut out = Vec::new();
    ast.walk(&mut |path: &[ASTNode]| {
        if let Some(ASTNode::Expr(Expr::Dot(pair, ..) | Expr::Index(pair, ..))) = path.last()
            && is_variable(&pair.lhs, variable)
        {
            let mut chain = Vec::new();
            follow(&pair.rhs, &mut chain);
            out.push(chain);
        }
        true
    });
    out
}

/// The fields of the row that a script can read; `None` where it does anything else with the row
/// than to read fields that it names.
pub(super) fn fields(ast: &AST) -> Option<BTreeSet<String>> {
    let mut entry = ast.iter_functions();
    let entry = entry.find(|function| function.name == ENTRY && function.params.len() == 2)?;
    let row = *entry.params.first()?;
    let mut uses = 0;
    ast.walk(&mut |path: &[ASTNode]| {
        uses +=
            usize::from(matches!(path.last(), Some(ASTNode::Expr(expr)) if is_variable(expr, row)));
        true
    });
    let chains = chains(ast, row);
    let named = chains.iter().filter_map(|chain| chain.first());
    let named: Vec<&String> = named.map(|(name, _)| name).collect();
    (named.len() == uses).then(|| named.into_iter().cloned().collect())
}

fn is_variable(expr: &Expr, name: &str) -> bool {
    matches!(expr, Expr::Variable(variable, ..) if variable.1 == name)
}

/// Collects names until something else (a call, a computed index) is met.
fn follow(expr: &Expr, chain: &mut Chain) {
    match expr {
        Expr::Property(property, at) => chain.push((property.2.to_string(), *at)),
        Expr::StringConstant(text, at) => chain.push((text.to_string(), *at)),
        Expr::Dot(pair, ..) | Expr::Index(pair, ..) => {
            let before = chain.len();
            follow(&pair.lhs, chain);
            if chain.len() > before {
                follow(&pair.rhs, chain);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::limited_engine;

    fn of(script: &str) -> Option<Vec<String>> {
        let ast = limited_engine().compile(script).unwrap();
        Some(fields(&ast)?.into_iter().collect())
    }

    #[test]
    fn fields_that_are_named_are_known_and_any_other_use_is_none() {
        for (script, expected) in [
            ("fn review(row, ctx) { }", Some(vec![])),
            (
                "fn review(r, ctx) { if r.a != () && r.b.c == r[\"d\"] { #{ veto: `${r.e}` } } }",
                Some(vec!["a", "b", "d", "e"]),
            ),
            (
                "fn review(row, ctx) { let x = row.a.to_lower(); for y in row.b { x += y; } }",
                Some(vec!["a", "b"]),
            ),
            (
                "fn f(x) { x.c } fn review(row, ctx) { row.a + f(row.b) }",
                Some(vec!["a", "b"]),
            ),
            ("fn f(x) { x.a } fn review(row, ctx) { f(row) }", None),
            (
                "fn review(row, ctx) { row.a; let other = row; other.b }",
                None,
            ),
            ("fn review(row, ctx) { row[ctx.name] }", None),
            ("fn review(row, ctx) { row.keys().len() }", None),
            ("fn review(row, ctx) { \"a\" in row }", None),
            (
                "fn review(row, ctx) { for (k, i) in row.a { row[k]; } }",
                None,
            ),
            (
                "fn review(row, ctx) { #{ notes: [row.to_string()] } }",
                None,
            ),
            ("fn review(row, ctx) { switch row { _ => row.a } }", None),
            ("fn review(row, ctx) { row }", None),
            ("fn review(row, ctx) { [row.a, [row]] }", None),
            ("fn review(row, ctx) { row = #{}; row.a }", None),
            ("fn review(row, ctx) { row.a = row; }", None),
        ] {
            let expected: Option<Vec<String>> =
                expected.map(|names| names.into_iter().map(str::to_owned).collect());
            assert_eq!(of(script), expected, "{script}");
        }
    }
}
