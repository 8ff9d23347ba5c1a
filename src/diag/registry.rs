//! Every finding there is: code, name, group, level, and the page about it.
//!
//! Names are what users write after `@allow` and `-W`; numbers only group them
//! (M01 syntax, M02 names and types, M03 logic, M04 security, M05 tests).

use super::Level;

/// What `-D`, `-W`, `-A` can name at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// The text is not Mero.
    Syntax,
    /// Names and types.
    Names,
    /// Conflicts, unreachable and redundant entries.
    Logic,
    /// Holes.
    Security,
    /// Tests and assertions.
    Tests,
    /// Matters of taste.
    Pedantic,
}

impl Group {
    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Group::Syntax => "syntax",
            Group::Names => "names",
            Group::Logic => "logic",
            Group::Security => "security",
            Group::Tests => "tests",
            Group::Pedantic => "pedantic",
        }
    }
}

/// One kind of finding.
#[derive(Debug)]
pub struct Code {
    /// `M0201`.
    pub id: &'static str,
    /// `undefined-name`.
    pub name: &'static str,
    /// Its group.
    pub group: Group,
    /// Level unless the user says otherwise.
    pub level: Level,
    /// One line: when it fires.
    pub summary: &'static str,
    /// The page shown by `meroc code`, in Markdown.
    pub page: &'static str,
}

macro_rules! codes {
    ($($konst:ident $id:literal $name:literal $group:ident $level:ident $summary:literal)*) => {
        $(
            #[doc = $summary]
            pub static $konst: Code = Code {
                id: $id,
                name: $name,
                group: Group::$group,
                level: Level::$level,
                summary: $summary,
                page: include_str!(concat!("../../docs/rules/", $id, ".md")),
            };
        )*
        /// All codes, by number.
        pub static ALL: &[&Code] = &[$(&$konst),*];
    };
}

codes! {
    SYNTAX_ERROR "M0101" "syntax-error" Syntax Error "the text is not Mero"
    NOT_UTF8 "M0102" "not-utf8" Syntax Error "the file is not UTF-8 text"
    TOO_LARGE "M0103" "too-large" Syntax Error "the file or a pattern is larger than meroc takes"
    TOO_DEEP "M0104" "too-deep" Syntax Error "braces or parentheses are nested too deeply"
    UNKNOWN_EDITION "M0105" "unknown-edition" Syntax Error "the edition is missing or not known to this meroc"
    HIDDEN_CHARACTER "M0106" "hidden-character" Syntax Error "an invisible or bidirectional control character stands in the text"
    CONFUSABLE "M0107" "confusable" Syntax Warning "a string mixes scripts so that one letter passes for another"
    UNDEFINED_NAME "M0201" "undefined-name" Names Error "a name that nothing defines"
    DUPLICATE_NAME "M0202" "duplicate-name" Names Error "a name defined twice"
    DUPLICATE_SLUG "M0203" "duplicate-slug" Names Error "two mounts of a context share a slug or a directory"
    MISSING_ROOT "M0204" "missing-root" Names Error "a context has mounts, and none is named root"
    UNKNOWN_PERMISSION "M0205" "unknown-permission" Names Error "a permission that does not exist"
    UNKNOWN_PHASE "M0206" "unknown-phase" Names Error "a phase that does not exist"
    IMPORT_CYCLE "M0207" "import-cycle" Names Error "files import one another in a circle"
    MISSING_IMPORT "M0208" "missing-import" Names Error "an imported file cannot be read"
    BARE_GRANT "M0209" "bare-grant" Names Error "a grant key without a namespace, or with two"
    BAD_PATTERN "M0210" "bad-pattern" Names Error "a malformed glob, word pattern or regular expression"
    HOLE_IN_DENY "M0211" "hole-in-deny" Names Error "a path word such as {read} in a deny rule"
    UNUSED_PROFILE "M0212" "unused-profile" Names Warning "a profile that no context uses"
    UNUSED_PARAM "M0213" "unused-param" Names Warning "a parameter that no mount uses"
    UNUSED_PERMISSION "M0214" "unused-permission" Names Warning "a named permission set that nothing uses"
    UNUSED_IMPORT "M0215" "unused-import" Names Warning "an import that provides nothing that is used"
    UNMATCHED_ALLOW "M0216" "unmatched-allow" Names Warning "an @allow that silences nothing"
    CONFLICTING_FIELDS "M0217" "conflicting-fields" Names Error "a field set twice in one place, or differently by two profiles"
    BAD_HOST "M0218" "bad-host" Names Error "a mount's host directory is not one that can be bound"
    BAD_STATEMENT "M0219" "misplaced-statement" Names Error "a statement that may not stand where it does"
    CONTRADICTION "M0301" "contradiction" Logic Warning "one level allows and denies the same thing"
    ASK_WITHOUT_ALLOW "M0302" "ask-without-allow" Logic Warning "a permission is asked for that is nowhere allowed"
    POWERLESS_MOUNT "M0303" "powerless-mount" Logic Warning "a mount on which no request is granted"
    UNREACHABLE_MOUNT "M0304" "unreachable-mount" Logic Warning "a mount all of which is hidden"
    DENY_WITHOUT_EFFECT "M0305" "deny-without-effect" Logic Warning "a deny that changes no decision: nothing it covers was allowed"
    REDUNDANT_FIELD "M0306" "redundant-field" Pedantic Note "a field that repeats what holds without it"
    UNREACHABLE_RULE "M0307" "unreachable-rule" Logic Warning "a rule or block that never decides"
    REDUNDANT_RULE "M0308" "redundant-rule" Logic Warning "a rule or block whose removal changes no decision"
    DUPLICATE_RULE "M0309" "duplicate-rule" Logic Warning "two rules with one language and one effect"
    OVERLAP "M0310" "overlap" Pedantic Note "two rules of different effects share requests, and neither covers the other"
    DEAD_EXCEPTION "M0311" "dead-exception" Logic Warning "an exception that removes nothing"
    DEAD_HIDE "M0312" "dead-hide" Logic Warning "a hide pattern that no path in its scope matches"
    REDUNDANT_HIDE "M0313" "redundant-hide" Logic Warning "a hide pattern that the others cover"
    DEAD_REINCLUDE "M0314" "dead-reinclude" Logic Warning "a ! pattern that brings nothing back"
    IMPOSSIBLE_TOOL "M0315" "impossible-tool" Logic Warning "a declared tool that cannot run where it is allowed, or nowhere"
    UNUSED_GRANT "M0316" "unused-grant" Logic Warning "a grant that no declared tool requires"
    UNMATCHED_TOOL "M0317" "unmatched-tool" Logic Warning "a tool rule that matches no declared tool"
    NOT_NARROWER "M0318" "not-narrower" Logic Error "a request on which a context is more permissive than the one it narrows"
    PHASE_ORDER "M0319" "phase-order" Logic Error "a request on which a looser phase is stricter"
    IDLE_PHASE "M0320" "idle-phase" Pedantic Note "an admitted phase that decides everything as another does"
    UNPROVED "M0321" "unproved" Logic Warning "a question that outgrew its budget"
    UNCONFINED_CONTEXT "M0401" "unconfined-context" Security Warning "a context without mounts that every absolute path passes"
    BYPASS_ADMITTED "M0402" "bypass-admitted" Security Warning "a context admits the phase bypass_permissions"
    OPEN_OTHERWISE "M0403" "open-otherwise" Security Warning "whatever no rule names is allowed"
    ARBITRARY_EXECUTION "M0404" "arbitrary-execution" Security Warning "an allowed command runs any program"
    UNGUARDED_PATH_ARGUMENT "M0405" "unguarded-path-argument" Security Warning "an allowed command takes any path, protected ones too"
    GLUED_WILDCARD "M0406" "glued-wildcard" Security Warning "a wildcard glued to a name matches other names"
    LOOSE_WILDCARD "M0407" "loose-wildcard" Security Warning "a wildcard before the subcommand takes options"
    BARE_DENY "M0408" "bare-deny" Security Warning "a denial of the bare command only"
    FRAGILE_DENY "M0409" "fragile-deny" Security Warning "a denial that another spelling of the options slips past"
    DEAD_PATTERN "M0410" "dead-pattern" Security Warning "a word pattern that no command can match"
    WRITABLE_CONTROL "M0411" "writable-control" Security Warning "a context may write what governs it or is run later"
    REMOVABLE_CONTROL "M0412" "removable-control" Security Warning "a protected path can go with a directory above it"
    SECRET_NEAR_MISS "M0413" "secret-near-miss" Security Warning "a secret is hidden and its sibling is not"
    DANGEROUS_ENV "M0414" "dangerous-env" Security Warning "a variable may be set that makes programs run code"
    GLOB_IN_HOST "M0415" "glob-in-host" Security Warning "wildcards in a mount's directory, which are literal"
    FLAT_NESTING "M0416" "flat-nesting" Security Note "a top-level mount lies inside another"
    FAILED_TEST "M0501" "failed-test" Tests Error "a case of a `test` item gets another answer than it expects"
    FAILED_ASSERT "M0502" "failed-assert" Tests Error "an assertion does not hold for every request"
    UNTESTED_CONTEXT "M0503" "untested-context" Tests Note "a context that no `test` item is about"
}

/// Finds a code by number (any case) or name.
#[must_use]
pub fn find(text: &str) -> Option<&'static Code> {
    ALL.iter().copied().find(|c| c.name == text || c.id.eq_ignore_ascii_case(text))
}
