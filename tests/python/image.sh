#!/usr/bin/env bash
# image.sh BUILD SOURCES: the root folder that the Dockerfile makes, without Docker: the packed .deb, and of this machine's
# packages those that it and the Dockerfile ask for, with all that they depend on, and nothing else. The quick-start runs in it,
# and so does a method in Python.
set -euo pipefail
build=$1 sources=$2
skip() { echo "SKIPPED: $1" && exit 0; }
command -v dpkg-shlibdeps >/dev/null || skip "no dpkg-dev"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
root=$folder/root
(cd "$build" && cpack -G DEB -B "$folder/made" >"$folder/log") || { cat "$folder/log" && exit 1; }
deb=$(ls "$folder"/made/simsgd_*.deb)
depends=$(dpkg-deb -f "$deb" Depends)
for each in libc6 libfmt libsqlite3 zlib1g; do
  [[ $depends == *"$each"* ]] || { echo "The package does not depend on $each: $depends" && exit 1; }
done
[ "$(id -u)" = 0 ] || skip "a root of one's own needs root"
mkdir -p "$root"/{dev,etc,proc,tmp,work,usr/bin,usr/sbin,usr/lib,usr/lib64}
for each in bin sbin lib lib64; do ln -s usr/$each "$root/$each"; done
touch "$root/dev/null"

named=$(grep -o 'simsgd_\*.deb .* \${EXTRA}' "$sources/Dockerfile" | sed 's/simsgd_\*.deb//; s/\${EXTRA}//')
/usr/bin/python3 - "$depends" "$named" >"$folder/packages" <<'CLOSURE'
import re, sys
installed, provides, essential = {}, {}, []
for text in open("/var/lib/dpkg/status", encoding="utf-8").read().split("\n\n"):
    fields = dict(re.findall(r"^(\S+): (.*)$", text, re.M))
    if " installed" not in fields.get("Status", ""):
        continue
    name = fields["Package"]
    installed[name] = ", ".join(fields[key] for key in ("Depends", "Pre-Depends") if key in fields)
    for each in re.findall(r"[a-z0-9][a-z0-9+.-]+(?= \(|,|$)", fields.get("Provides", "")):
        provides.setdefault(each, name)
    if fields.get("Essential") == "yes":
        essential.append(name)
needed, missing = [], []
def need(clauses):
    for clause in filter(None, (each.strip() for each in clauses.split(","))):
        names = [re.match(r"[^ (:]+", each.strip())[0] for each in clause.split("|")]
        found = [provides.get(name, name) for name in names if provides.get(name, name) in installed]
        if not found:
            missing.append(clause)
        elif found[0] not in needed:
            needed.append(found[0])
            need(installed[found[0]])
need(", ".join([*essential, sys.argv[1], *sys.argv[2].split()]))
if missing:
    sys.exit("SKIPPED: this machine lacks " + ", ".join(missing))
print("\n".join(needed))
CLOSURE
skipped=$(grep '^SKIPPED' "$folder/packages" || true)
[ -z "$skipped" ] || skip "$skipped"
xargs dpkg -L <"$folder/packages" | sort -u | while read -r path; do
  { [ -f "$path" ] || [ -L "$path" ]; } && case $path in /usr/share/doc/* | /usr/share/man/* | /usr/share/locale/*) ;; *) echo "$path" ;; esac
done >"$folder/files" || true
tar -C / -cf - --files-from "$folder/files" 2>/dev/null | tar -C "$root" -xf - --keep-directory-symlink || true
cp -a /etc/alternatives "$root/etc"
find /usr/lib/x86_64-linux-gnu -maxdepth 1 -type l -lname '/etc/alternatives/*' -exec cp -a {} "$root/usr/lib/x86_64-linux-gnu" \;  # as postinst does
dpkg -x "$deb" "$root"
chroot "$root" /sbin/ldconfig
echo "$(wc -l <"$folder/packages") packages, $(du -sm "$root" | cut -f1) MB"

inside() { env -i PATH=/usr/bin HOME=/work /usr/sbin/chroot "$root" "$@"; }
inside simsgd quickstart -o /work/quickstart.db --set /stop/steps=4 --set /target=null >"$folder/said" 2>&1 || { cat "$folder/said" && exit 1; }
inside simsgd results list /work/quickstart.db
cat >"$root/work/mine.py" <<'METHOD'
def mine(w):
    while (yield w.next_step()):
        w.apply((yield w.all_reduce((yield w.gradient()), scale=1 / w.size)))
METHOD
inside python3 - <<'SCRIPT'
import sys
sys.path.insert(0, "/work")
import mine, simsgd
print(simsgd.run("quickstart.json", {"/stop/steps": 4, "/target": None}, algorithm=mine.mine).metrics["throughput_samples_per_s"])
print(len(simsgd.results("/work/quickstart.db").frame()), "rows")
SCRIPT
echo passed
