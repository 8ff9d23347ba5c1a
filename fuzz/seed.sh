#!/bin/sh
# Fills fuzz/corpus with what the project has: policies of examples, tests and the
# built-in library, and their tables. Run it from the project's root; it needs a
# built `meroc` (target/debug/meroc, or $MEROC).
set -eu
meroc=${MEROC:-target/debug/meroc}
out=fuzz/corpus
mkdir -p "$out/parse" "$out/policy" "$out/table" "$out/argv"
for policy in fuzz/policy.mero std/*.mero examples/*/policy.mero tests/spec/*.mero; do
    name=$(echo "$policy" | tr '/' '-')
    cp "$policy" "$out/parse/$name"
    cp "$policy" "$out/policy/$name"
    for form in "" --debug-info; do
        "$meroc" compile $form "$policy" -o "$out/table/$name$form" 2>/dev/null || true
    done
done
printf 'edition 1\ncontext w { mount root at "./w" { allow read hide "*.x" } }\n' >"$out/policy/tiny"
"$meroc" compile "$out/policy/tiny" -o "$out/table/tiny" 2>/dev/null
printf '\001git\000push\000--force' >"$out/argv/1"
printf '\217cat\000/data/q3.csv\000../x' >"$out/argv/2"
printf '\002tool\000--out=/data/x\000-o=y' >"$out/argv/3"
printf '\010/secrets/a.pem\000~/x\000sample.pem\000/srv/w/data/a/b' >"$out/argv/4"
printf '\020if true; then git status | cat <x >y; fi' >"$out/argv/5"
