# A plan's ledger, a row for each collective: phase, kind, axes, (index), bytes.
# A row that this cannot read stays as it is, and differs from all expected.
/ledger = {/!d
s/.*plan\.\([a-z_]*\).*{axes = \["\([^]]*\)"\], bytes = \([0-9]*\) .* index = "\([^"]*\)", phase = "\([^"]*\)".*/\5 \1 \2 (\4) \3/
s/", "/,/g
