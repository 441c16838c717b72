// If an axis divides a sequence, the ends of shards are sent: one position each
// of x and of decays, and for a delay those that leave.
// RUN: tpsp-opt %s %to_ledger | %ledger_rows > %t.rows
// RUN: %expected_rows %s | diff - %t.rows
tpsp.program <b = 2, s = 64, d = 8> {
mesh @mesh <cp = 4 : data>
func @f(%x: [b, s@cp, d], %a: [b, s@cp]) -> [b, s@cp, d] {
  %y = scan %x, %a {index = "s"}
  %z = delay %y {index = "s", by = 3}
  %c = cumsum %z {index = "s"}
  return %c
}
}

// ROW: 2 backward all_gather cp (s.span) 192
// ROW: 1 backward all_gather cp (s.span) 24
// ROW: 1 backward all_gather cp (s.span) 576
// ROW: 2 forward all_gather cp (s.span) 192
// ROW: 1 forward all_gather cp (s.span) 24
// ROW: 1 forward all_gather cp (s.span) 576
