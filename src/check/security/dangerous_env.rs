//! `dangerous-env`: a variable that makes a program load code or start another program
//! is as good as a permission to run anything.

use super::pattern::{commands, parse, typed};
use super::scene::Scene;
use crate::diag::Diagnostic;
use crate::diag::registry as codes;
use crate::request::Ask;
use crate::syntax::ast::PatternKind;
use mero_runtime::Effect;

/// Names, and what they do.
const NAMES: &[(&str, &str)] = &[
    ("PATH", "decides which programs the names stand for"),
    ("LD_PRELOAD", "loads code into every program"),
    ("LD_LIBRARY_PATH", "decides which libraries are loaded"),
    ("LD_AUDIT", "loads code into every program"),
    ("DYLD_INSERT_LIBRARIES", "loads code into every program"),
    ("DYLD_LIBRARY_PATH", "decides which libraries are loaded"),
    ("BASH_ENV", "names a script that every shell runs"),
    ("ENV", "names a script that shells run"),
    ("ZDOTDIR", "decides which start-up files a shell runs"),
    ("PROMPT_COMMAND", "is run by shells"),
    ("PS4", "is expanded by shells, command substitutions too"),
    ("SHELLOPTS", "changes how shells read scripts"),
    ("IFS", "changes how shells split words"),
    ("SHELL", "names the shell that programs start"),
    ("HOME", "decides which configuration programs read"),
    ("XDG_CONFIG_HOME", "decides which configuration programs read"),
    ("PYTHONPATH", "decides which modules are loaded"),
    ("PYTHONHOME", "decides which modules are loaded"),
    ("PYTHONSTARTUP", "names a script that Python runs"),
    ("PYTHONINSPECT", "hands over to the interpreter's prompt"),
    ("PYTHONBREAKPOINT", "names code that Python runs"),
    ("NODE_OPTIONS", "can load code into every Node program"),
    ("NODE_PATH", "decides which modules are loaded"),
    ("PERL5OPT", "can load code into every Perl program"),
    ("PERL5LIB", "decides which modules are loaded"),
    ("RUBYOPT", "can load code into every Ruby program"),
    ("RUBYLIB", "decides which modules are loaded"),
    ("JAVA_TOOL_OPTIONS", "can load code into every Java program"),
    ("_JAVA_OPTIONS", "can load code into every Java program"),
    ("JDK_JAVA_OPTIONS", "can load code into every Java program"),
    ("MAVEN_OPTS", "can load code into Maven"),
    ("GRADLE_OPTS", "can load code into Gradle"),
    ("CLASSPATH", "decides which classes are loaded"),
    ("GIT_SSH_COMMAND", "is run by git"),
    ("GIT_SSH", "is run by git"),
    ("GIT_ASKPASS", "is run by git"),
    ("SSH_ASKPASS", "is run by ssh"),
    ("GIT_EDITOR", "is run by git"),
    ("GIT_SEQUENCE_EDITOR", "is run by git"),
    ("GIT_PAGER", "is run by git"),
    ("GIT_EXTERNAL_DIFF", "is run by git"),
    ("GIT_PROXY_COMMAND", "is run by git"),
    ("GIT_EXEC_PATH", "decides which programs git runs"),
    ("GIT_TEMPLATE_DIR", "can bring hooks into new repositories"),
    ("GIT_CONFIG", "can make git run any program"),
    ("GIT_CONFIG_GLOBAL", "can make git run any program"),
    ("GIT_CONFIG_SYSTEM", "can make git run any program"),
    ("GIT_CONFIG_COUNT", "can make git run any program"),
    ("GIT_CONFIG_PARAMETERS", "can make git run any program"),
    ("GIT_DIR", "decides whose hooks and configuration git follows"),
    ("EDITOR", "is run by many programs"),
    ("VISUAL", "is run by many programs"),
    ("PAGER", "is run by many programs"),
    ("MANPAGER", "is run by man"),
    ("BROWSER", "is run by many programs"),
    ("LESSOPEN", "is run by less"),
    ("LESSCLOSE", "is run by less"),
    ("MAKEFLAGS", "can make make run any program"),
    ("MAKEFILES", "names files that make runs"),
    ("CC", "is run by builds"),
    ("CXX", "is run by builds"),
    ("RUSTC_WRAPPER", "is run by cargo"),
    ("RUSTC_WORKSPACE_WRAPPER", "is run by cargo"),
    ("RUSTC", "is run by cargo"),
    ("RUSTFLAGS", "can name a linker that rustc runs"),
    ("CARGO_HOME", "decides which configuration cargo reads"),
    ("CARGO_BUILD_RUSTC_WRAPPER", "is run by cargo"),
    ("GOFLAGS", "can make go run any program"),
    ("DOCKER_HOST", "decides which machine runs the containers"),
    ("KUBECONFIG", "can name a program that kubectl runs"),
    ("RIPGREP_CONFIG_PATH", "can make rg run any program"),
    ("TAR_OPTIONS", "can make tar run any program"),
    ("RSYNC_RSH", "is run by rsync"),
    ("npm_config_script_shell", "is run by npm"),
    ("NPM_CONFIG_SCRIPT_SHELL", "is run by npm"),
    ("PIP_INDEX_URL", "decides where code is installed from"),
    ("GCONV_PATH", "loads code into many programs"),
    ("OPENSSL_CONF", "can load code into many programs"),
];

pub(super) fn check(scene: &Scene<'_>) -> Vec<Diagnostic> {
    let Some(block) = &scene.context.commands else { return Vec::new() };
    let mut out = Vec::new();
    if block.env.is_empty() {
        return out;
    }
    let allowed = allowed(scene);
    for name in &block.env {
        let taken = |n: &str| match name.node.strip_suffix('*') {
            Some(head) => n.starts_with(head),
            None => name.node == n,
        };
        let passing = NAMES.iter().filter(|(n, _)| taken(n)).find_map(|(n, what)| {
            let mut tried = allowed.iter();
            let witness = tried.find_map(|c| scene.allowed(&Ask::Command(format!("{n}=./x {c}"))));
            witness.map(|w| (n, what, w))
        });
        let Some((n, what, witness)) = passing else { continue };
        let message = if name.node.ends_with('*') {
            format!("`{}` takes in `{n}`, which {what}", name.node)
        } else {
            format!("`{n}` {what}, and any value may be given to it")
        };
        out.push(
            Diagnostic::new(&codes::DANGEROUS_ENV, name.span, message)
                .help("take it out, and set the value where the agent is started")
                .witness(witness),
        );
    }
    out
}

/// Some commands that are allowed as they stand.
fn allowed(scene: &Scene<'_>) -> Vec<String> {
    let mut out = Vec::new();
    for (rule, _) in scene.of_effect(Effect::Allow) {
        if rule.pattern.kind == PatternKind::Word {
            let own = commands(&parse(&rule.pattern.text), "x", "x");
            out.extend(own.iter().take(1).map(|c| typed(c)));
        } else {
            out.extend(["git status", "ls", "make", "npm test", "x"].map(str::to_owned));
        }
    }
    out.push("x".to_owned());
    out.retain(|c| scene.allowed(&Ask::Command(c.clone())).is_some());
    out.truncate(4);
    out
}
