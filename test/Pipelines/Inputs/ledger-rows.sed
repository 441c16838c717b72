# Prints a plan's ledger, a row for each collective: phase, kind, axes, (index),
# bytes. A row that this cannot parse is left unchanged, so it differs from all
# expected rows.
/ledger = #plan.ledger</!d
s/phase =/index = "", &/
s/\(index = "[^"]*", \)index = "", /\1/
s/.*plan\.\([a-z_]*\) *[%(].*axes = \["\([^]]*\)"\], index = "\([^"]*\)", phase = "\([^"]*\)", bytes = \([0-9]*\).*/\4 \1 \2 (\3) \5/
s/", "/,/g
