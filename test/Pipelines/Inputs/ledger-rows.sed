# A plan's ledger, a row for each collective: phase, kind, axes, (index), bytes.
# A row that this cannot read stays as it is, and differs from all expected.
/ledger = #plan.ledger</!d
s/phase =/index = "", &/
s/\(index = "[^"]*", \)index = "", /\1/
s/.*plan\.\([a-z_]*\) *[%(].*axes = \["\([^]]*\)"\], index = "\([^"]*\)", phase = "\([^"]*\)", bytes = \([0-9]*\).*/\4 \1 \2 (\3) \5/
s/", "/,/g
