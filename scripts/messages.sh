#!/usr/bin/env bash
# Update locale/*/LC_MESSAGES/*.po from the sources and compile them. New messages are left untranslated.
# Only this script needs GNU gettext: the platform reads the committed .mo files.
#     scripts/messages.sh        all languages
#     scripts/messages.sh pl     add a language
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec 1>&2

command -v xgettext >/dev/null || { echo 'messages: GNU gettext is missing: apt-get install gettext'; exit 1; }

DJANGO="$PWD/.venv/bin/python $PWD/manage.py"
languages=("$@")
if [ ${#languages[@]} -eq 0 ]; then
    for folder in locale/*/; do languages+=("$(basename "$folder")"); done
fi
[ -d locale ] || mkdir locale
names=()
for language in "${languages[@]}"; do names+=(-l "$language"); done
for domain in django djangojs; do
    $DJANGO makemessages "${names[@]}" -d "$domain" --no-wrap --no-obsolete --add-location file \
        -i 'tests/*' -i '.venv/*' -i 'var/*' -i 'node_modules/*' -i 'docs/*'
done
for language in "${languages[@]}"; do
    for file in "locale/$language/LC_MESSAGES"/*.po; do
        # A fuzzy guess is worse than an English sentence, and a date in the header would change at every run.
        sed -i '0,/^msgid ""$/{/^#, fuzzy$/d}' "$file"   # a new file's header is not fuzzy
        msgattrib --clear-fuzzy --empty --clear-previous --no-obsolete --no-wrap "$file" -o "$file"
        sed -i '/^"POT-Creation-Date:/d' "$file"
        msgfmt --check-format -o "${file%.po}.mo" "$file"
        msgfmt --statistics -o /dev/null "$file"
    done
done
