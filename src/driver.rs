//! From names of policies to findings and tables. Pure: files, revisions and
//! standard input are behind the [`Host`] trait.

pub mod host;
mod load;

use crate::check;
use crate::diag::registry as codes;
use crate::diag::{Diagnostic, Edit, Level};
use crate::hir::Policy;
use crate::hir::resolve::{self, Unit};
use crate::library;
use crate::source::{SourceMap, Span};
use crate::syntax::ast;
use crate::table::{self, Options};
use mero_runtime::Table;
use std::path::PathBuf;

pub use host::{Host, Memory, System};
pub use load::{LoadError, directory_of, is_table};

/// A policy with everything that is to be said of it.
#[derive(Debug)]
pub struct Analysis {
    /// The resolved policy, complete only if there are no errors.
    pub policy: Policy,
    /// All findings, sorted.
    pub diagnostics: Vec<Diagnostic>,
    /// Claims of the policy that were proved for every request.
    pub proved: Vec<String>,
    /// Questions about it that outgrew their budget, whether they are shown or not.
    pub unproved: Vec<String>,
    /// The trees, for `--emit ast`.
    pub units: Vec<Unit>,
    /// The policy file's own directory: the default base.
    pub directory: PathBuf,
}

impl Analysis {
    /// Whether any finding is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.level == Level::Error)
    }

    /// Whether any finding keeps the policy from meaning something. A failed test or
    /// assertion does not: what the policy decides is as clear as before.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        let own = |d: &Diagnostic| d.level == Level::Error && d.code.group != codes::Group::Tests;
        self.diagnostics.iter().any(own)
    }

    /// The files.
    #[must_use]
    pub fn sources(&self) -> &SourceMap {
        &self.policy.sources
    }
}

/// Loads a policy with all that it imports, and checks it.
///
/// # Errors
/// Where the policy itself cannot be read. What is wrong *in* it is a finding.
pub fn analyse(host: &dyn Host, policy: &str) -> Result<Analysis, LoadError> {
    Ok(finish(load::load(host, policy)?, true))
}

/// Loads a policy with all that it imports. Only what keeps it from meaning anything is
/// found; its rules are not searched.
///
/// # Errors
/// Where the policy itself cannot be read. What is wrong *in* it is a finding.
pub fn read(host: &dyn Host, policy: &str) -> Result<Analysis, LoadError> {
    Ok(finish(load::load(host, policy)?, false))
}

/// As [`read`], for the policy that a table with debug sections was compiled from: it
/// holds the text. That it is that text is seen by compiling it again.
///
/// # Errors
/// [`LoadError::Unusable`] for a table that holds no text, or text which this version
/// compiles to something else.
pub fn read_table(path: &str, bytes: &[u8]) -> Result<Analysis, LoadError> {
    let unusable = |why: String| LoadError::Unusable { path: path.to_owned(), why };
    let table = Table::from_bytes(bytes).map_err(|e| unusable(e.to_string()))?;
    let files = table.files().filter(|(name, _)| !name.starts_with(library::SHOWN_IN));
    let files = files.collect::<Vec<_>>();
    let names = files.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>();
    if names.is_empty() {
        return Err(unusable("it was compiled without `--debug-info`".to_owned()));
    }
    let files = files.iter().map(|(name, text)| (name.into(), text.as_bytes().to_vec()));
    let memory = Memory { files: files.collect(), input: Vec::new() };
    let analysis = finish(load::load_all(&memory, path, names)?, false);
    let options = Options { debug_info: true, ..Options::default() };
    match table::compile(&analysis.policy, options) {
        Ok(again) if again.bytes == bytes => Ok(analysis),
        _ => Err(unusable("its text does not compile to it".to_owned())),
    }
}

fn finish(loaded: load::Loaded, search: bool) -> Analysis {
    let load::Loaded { units, sources, mut diagnostics, directory } = loaded;
    let broken = diagnostics.iter().any(|d| d.level == Level::Error);
    let (policy, found) = resolve::resolve(&units, &sources);
    diagnostics.extend(found);
    diagnostics.extend(check::patterns(&policy));
    let (mut proved, mut unproved) = (Vec::new(), Vec::new());
    // With half a policy, most of what the rules say would be wrong.
    if search && !broken && !diagnostics.iter().any(|d| d.level == Level::Error) {
        match check::run(&policy) {
            Ok(report) => {
                diagnostics.extend(report.findings);
                proved = report.proved;
                unproved = report.unproved;
            }
            Err(unfit) => diagnostics.push(*unfit),
        }
    }
    let mut diagnostics = silence(&units, &sources, diagnostics, broken);
    let std_files = units.iter().filter(|u| u.std).map(|u| u.file).collect::<Vec<_>>();
    diagnostics.retain(|d| d.level == Level::Error || !std_files.contains(&d.primary.span.file));
    crate::diag::sort(&mut diagnostics, &sources);
    diagnostics.dedup_by(|a, b| {
        a.code.id == b.code.id && a.primary == b.primary && a.message == b.message
    });
    Analysis { policy, diagnostics, proved, unproved, units, directory }
}

/// Takes out what `@allow` annotations silence, and reports those that silence
/// nothing.
fn silence(
    units: &[Unit],
    sources: &SourceMap,
    diagnostics: Vec<Diagnostic>,
    broken: bool,
) -> Vec<Diagnostic> {
    let mut allows: Vec<(&ast::Allow, Span, bool)> = Vec::new();
    for unit in units.iter().filter(|u| !u.std) {
        for import in &unit.tree.imports {
            allows.extend(import.attributes.allows.iter().map(|a| (a, import.span, false)));
        }
        for item in &unit.tree.items {
            allows.extend(item.attributes.allows.iter().map(|a| (a, item.span, false)));
            collect(&item.kind, &mut allows);
        }
    }
    let mut out = Vec::new();
    for diagnostic in diagnostics {
        let span = diagnostic.primary.span;
        let mut silenced = false;
        for (allow, within, used) in &mut allows {
            let covers =
                within.file == span.file && within.start <= span.start && span.end <= within.end;
            let names = codes::find(&allow.code.node).is_some_and(|c| c.id == diagnostic.code.id);
            if covers && names && diagnostic.level < Level::Error {
                *used = true;
                silenced = true;
            }
        }
        if !silenced {
            out.push(diagnostic);
        }
    }
    for (allow, _, used) in allows {
        let known = codes::find(&allow.code.node);
        let diagnostic = match known {
            None => {
                let names = codes::ALL.iter().map(|c| c.name);
                let near = crate::diag::did_you_mean(&allow.code.node, names);
                Diagnostic::new(
                    &codes::UNMATCHED_ALLOW,
                    allow.code.span,
                    format!("there is no finding `{}`", allow.code.node),
                )
                .help(near.map_or_else(
                    || "`meroc code` lists all findings".to_owned(),
                    |n| format!("did you mean `{n}`?"),
                ))
            }
            Some(code) if code.level == Level::Error => Diagnostic::new(
                &codes::UNMATCHED_ALLOW,
                allow.code.span,
                format!("`{}` is an error and cannot be silenced", code.name),
            )
            .help("repair what it points at"),
            Some(code) if !used && !broken => {
                let mut finding = Diagnostic::new(
                    &codes::UNMATCHED_ALLOW,
                    allow.span,
                    format!("this `@allow({})` silences nothing", code.name),
                )
                .help("remove it: what it was for is gone, or it stands at the wrong place");
                let span = sources.whole_lines(allow.span);
                finding.fix.push(Edit { span, text: String::new() });
                finding
            }
            Some(_) => continue,
        };
        out.push(diagnostic);
    }
    out
}

fn collect<'a>(item: &'a ast::ItemKind, allows: &mut Vec<(&'a ast::Allow, Span, bool)>) {
    fn add<'a>(a: &'a ast::Attributes, span: Span, allows: &mut Vec<(&'a ast::Allow, Span, bool)>) {
        allows.extend(a.allows.iter().map(|allow| (allow, span, false)));
    }
    fn statements<'a>(body: &'a [ast::Statement], allows: &mut Vec<(&'a ast::Allow, Span, bool)>) {
        for s in body {
            add(&s.attributes, s.span, allows);
            match &s.kind {
                ast::StatementKind::Mount { body, .. } | ast::StatementKind::On { body, .. } => {
                    statements(body, allows);
                }
                ast::StatementKind::Commands(body) => {
                    body.iter().for_each(|c| add(&c.attributes, c.span, allows));
                }
                ast::StatementKind::Tools(body) => {
                    body.iter().for_each(|c| add(&c.attributes, c.span, allows));
                }
                _ => {}
            }
        }
    }
    fn tests<'a>(body: &'a [ast::TestStatement], allows: &mut Vec<(&'a ast::Allow, Span, bool)>) {
        for s in body {
            add(&s.attributes, s.span, allows);
            if let ast::TestStatementKind::In { body, .. } = &s.kind {
                tests(body, allows);
            }
        }
    }
    match item {
        ast::ItemKind::Profile { body, .. } | ast::ItemKind::Context { body, .. } => {
            statements(body, allows)
        }
        ast::ItemKind::Tool { body, .. } => {
            body.iter().for_each(|s| add(&s.attributes, s.span, allows))
        }
        ast::ItemKind::Test { body, .. } => tests(body, allows),
        _ => {}
    }
}
