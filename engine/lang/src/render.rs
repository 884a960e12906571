//! Draws a diagnostic the way rustc does. The only module that knows the renderer.

use crate::diag::{Diagnostic, Label, Severity};
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// Without colour, in ASCII.
pub(crate) fn plain(diagnostic: &Diagnostic) -> String {
    draw(diagnostic, &Renderer::plain())
}

/// With colour.
pub(crate) fn coloured(diagnostic: &Diagnostic) -> String {
    draw(
        diagnostic,
        &Renderer::styled().decor_style(DecorStyle::Unicode),
    )
}

fn draw(diagnostic: &Diagnostic, renderer: &Renderer) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level
        .primary_title(diagnostic.message.as_str())
        .id(diagnostic.code);
    let mut group = Group::with_title(title);
    for labels in by_file(&diagnostic.labels) {
        let mut snippet = Snippet::source(&*labels[0].text).path(&*labels[0].file);
        for label in labels {
            let kind = if label.primary {
                AnnotationKind::Primary
            } else {
                AnnotationKind::Context
            };
            let mut annotation = kind.span(label.span.clone());
            if !label.label.is_empty() {
                annotation = annotation.label(label.label.as_str());
            }
            snippet = snippet.annotation(annotation);
        }
        group = group.element(snippet);
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    renderer.render(&[group])
}

/// Labels of one file together, the primary one's file first.
fn by_file(labels: &[Label]) -> Vec<Vec<&Label>> {
    let mut out: Vec<Vec<&Label>> = Vec::new();
    let ordered = labels
        .iter()
        .filter(|l| l.primary)
        .chain(labels.iter().filter(|l| !l.primary));
    for label in ordered {
        match out.iter_mut().find(|group| group[0].file == label.file) {
            Some(group) => group.push(label),
            None => out.push(vec![label]),
        }
    }
    out
}
