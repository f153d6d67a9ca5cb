# SPDX-License-Identifier: Apache-2.0
# deploy/man.awk - docs/operators.md's tables of pages, fields and metrics as sections of
# brazectl(1): what help2man --include reads.
#
# In: docs/operators.md.  Out: a section for each heading that has tables, a paragraph for each row;
# columns between the first and the last stand in brackets.
function bare(text) {
	gsub(/`/, "", text)
	return text
}
function plain(text) {
	gsub(/^ +| +$/, "", text)
	gsub(/\[|\]\([^)]*\)/, "", text)
	gsub(/-/, "\\-", text)
	return text
}
function marked(text,   n, i, part, out) {
	n = split(plain(text), part, "`")
	for (i = 1; i <= n; i++)
		out = out (i % 2 ? part[i] : "\\fB" part[i] "\\fR")
	return out
}
/^## / {
	wanted = /^## (The last seconds|What the pages say|Metrics)/
	title = wanted ? toupper(substr($0, 4)) : ""
	sub(/,.*/, "", title)
	told = 0
	head = 1
	next
}
!wanted || !/^\|/ {
	head = 1
	next
}
/^\|[-|]+$/ { next }
{
	n = split($0, cell, "|") - 1
	if (head) {
		if (!told)
			printf "[%s]\n", title
		told = 1
		head = 0
		printf ".SS \"%s\"\n", plain(bare(cell[2]))
		next
	}
	more = ""
	for (i = 3; i < n; i++)
		more = more (more == "" ? "" : ", ") marked(cell[i])
	printf ".TP\n%s\n%s%s\n", marked(cell[2]), marked(cell[n]), more == "" ? "" : " (" more ")"
}
