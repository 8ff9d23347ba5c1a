//! Bytes to text to a tree: whatever they are, the parser ends, and every
//! finding can be rendered.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meroc::diag::render;
use meroc::source::SourceMap;
use meroc::syntax;

fuzz_target!(|bytes: &[u8]| {
    let mut sources = SourceMap::default();
    let file = sources.add("p.mero", "");
    let findings = match syntax::decode(file, bytes) {
        Ok(text) => {
            sources.set_text(file, text.clone());
            let (tree, findings) = syntax::parse(file, &text);
            for span in tree.items.iter().map(|i| i.span) {
                assert!(text.get(span.range()).is_some(), "an item outside its text");
            }
            for finding in &findings {
                assert!(text.get(finding.primary.span.range()).is_some(), "{finding:?}");
            }
            findings
        }
        Err(finding) => vec![finding],
    };
    let shown = render::human(&findings, &sources, false);
    assert_eq!(shown.is_empty(), findings.is_empty());
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "it reaches the terminal");
    assert_eq!(render::short(&findings, &sources).lines().count(), findings.len());
    let _ = render::json::findings(&findings, &sources);
});
