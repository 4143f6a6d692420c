#!/usr/bin/env bash
# report-picture.sh [FOLDER] [OUT.png]
# Photographs the report of a results folder (default results/latest) for the
# README: the headline and a few panels, in Chromium, as docs/img/report.png.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:-results/latest}
out=${2:-docs/img/report.png}
most=307200 # bytes

report=$folder/report.html
[ -f "$report" ] || { echo "no $report; run: make report" >&2; exit 1; }
browser=
for name in chromium chromium-browser google-chrome; do
	browser=$(command -v "$name") && break
done
[ -n "$browser" ] || { echo "no Chromium; run: scripts/install-chromium.sh" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The picture has room for the headline and, where there were trials, loss against
# throughput, or where there were slow followers, what they cost; else the first chart and the time line, each with the note without which
# it would mislead: compression, retention.
style='<style>.panel:not(#throughput):not(#time),.contents,.panel details,.panel .note,footer,.about,.meta div:not(:nth-child(2)),.panel .eyebrow,#throughput h3,.top .eyebrow,#time .lead,#time .caption,#time h3{display:none}'
style+='#throughput figure:nth-of-type(n+2){display:none}.top{padding:22px 0 16px}'
style+='#throughput .note:last-of-type,#time .note{display:block}#throughput .legend{margin-top:16px}</style>'
if grep -q 'id="durability"' "$report"; then
	style='<style>.panel:not(#durability),.contents,.panel details,footer,.about,.meta div:not(:nth-child(2)),.panel .eyebrow,.top .eyebrow{display:none}'
	style+='#durability figure:nth-of-type(n+2){display:none}.top{padding:22px 0 16px}</style>'
fi
if grep -q 'id="replication"' "$report"; then
	style='<style>.panel:not(#replication),.contents,.panel details,.panel .note,footer,.about,.meta div:not(:nth-child(2)),.panel .eyebrow,.top .eyebrow{display:none}'
	style+='.top{padding:22px 0 16px}</style>'
fi
sed "s|</head>|$style</head>|" "$report" >"$work/report.html"

mkdir -p "$(dirname "$out")"
"$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$work/profile" \
	--window-size=1200,"${HEIGHT:-2030}" --screenshot="$work/picture.png" "file://$work/report.html" >/dev/null 2>&1
[ -s "$work/picture.png" ] || { echo "$browser wrote no picture" >&2; exit 1; }
size=$(stat -c %s "$work/picture.png")
if [ "$size" -gt "$most" ]; then
	echo "the picture is $size bytes, more than $most; give less HEIGHT" >&2
	exit 1
fi
mv "$work/picture.png" "$out"
echo "$out: $size bytes, of $(readlink -f "$folder")"
