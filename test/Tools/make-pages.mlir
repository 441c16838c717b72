// scripts/make-pages writes again what commands print, keeps what is left out,
// and says what is stale: by tools that print what this test says.
// RUN: rm -rf %t && split-file %s %t && mkdir %t/tools && mv %t/tpsp-plan %t/tools && touch %t/tools/tpsp-run && chmod +x %t/tools/*
// DEFINE: %{make} = %docs/../scripts/make-pages --tools %t/tools

// RUN: cp %t/page.md %t/before.md
// RUN: not %{make} --check %t/page.md | FileCheck %s --check-prefix=STALE
// STALE: $ echo two
// STALE-NEXT: @@
// STALE-NEXT: -one
// STALE-NEXT: +two
// STALE: $ printf
// STALE: 5 made, 4 stale
// RUN: cmp %t/page.md %t/before.md
// RUN: %{make} %t/page.md
// RUN: diff %t/page.md %t/after.md
// RUN: %{make} --check %t/page.md | FileCheck %s --check-prefix=FRESH
// FRESH: {{^5 made, 0 stale$}}

// Slow ones only where that is asked for; a table's words stay.
// RUN: %{make} --check %t/planner.md | FileCheck %s --check-prefix=NONE
// NONE: {{^0 made, 0 stale$}}
// RUN: %{make} --slow %t/planner.md
// RUN: diff %t/planner.md %t/planned.md

// What numbers cannot say is for people: another first plan, a line that is gone,
// a command that fails.
// RUN: sed 's/| TP 8, /| DP 8, 50 ms; TP 8, /' %t/planned.md > %t/other.md
// RUN: not %{make} --check --slow %t/other.md | FileCheck %s --check-prefix=FIRST
// FIRST: plan 1 of 'plan m.mlir --devices 8' is TP 8 now; the page says: | row |
// RUN: not %{make} --check %t/gone.md | FileCheck %s --check-prefix=GONE
// GONE: no such line is printed: three 3
// GONE: status 3: why
// GONE: 2 made, 2 stale

//--- page.md
<!-- made: echo two -->
```text
one
```

<!-- made: printf 'head 10 MiB\nbetween\nlast 3.5 KiB, x12\n' -->
<!-- no check -->
```text
head 9.5 GiB
...
last 2 B, x7
```

<!-- made: sed 's/1/2/' -->
| a | 1 |

```console
$ echo 'of both' && \
  echo more
old
```

```mlir
// p.mlir
a program
```

```console
$ cat p.mlir
// p.mlir
a program
```
//--- after.md
<!-- made: echo two -->
```text
two
```

<!-- made: printf 'head 10 MiB\nbetween\nlast 3.5 KiB, x12\n' -->
<!-- no check -->
```text
head 10 MiB
...
last 3.5 KiB, x12
```

<!-- made: sed 's/1/2/' -->
| a | 2 |

```console
$ echo 'of both' && \
  echo more
of both
more
```

```mlir
// p.mlir
a program
```

```console
$ cat p.mlir
// p.mlir
a program
```
//--- gone.md
<!-- made: echo three 3 words -->
```text
three 3
...
```

<!-- made: echo why; exit 3 -->
| a |
//--- planner.md
alias plan='tpsp-plan --hardware h'

<!-- made slowly: planner-figures -->
| row | `plan m.mlir --devices 8` | TP 8, 1 ms, 2.0 GiB; ZeRO-1 2 x TP 4, 3 ms, 4 ms more than the first; TP 4, 3.00 ms, is over by 1.0 GiB | 5 ms of words |

<!-- made slowly: planner-figures 'plan m.mlir --devices 8' -->
| | step | tokens/s | per device |
| TP 8, a node | 1 ms | 2 | 3k |
//--- planned.md
alias plan='tpsp-plan --hardware h'

<!-- made slowly: planner-figures -->
| row | `plan m.mlir --devices 8` | TP 8, 10.0 ms, 6.2 GiB; ZeRO-1 2 x TP 4, 12.3 ms, 2.34 ms more than the first; TP 4, 137 ms, is over by 2.8 GiB | 5 ms of words |

<!-- made slowly: planner-figures 'plan m.mlir --devices 8' -->
| | step | tokens/s | per device |
| TP 8, a node | 10.0 ms | 819,200 | 102.4k |
//--- tpsp-plan
#!/usr/bin/env python3
import json
gib = 2**30
print(json.dumps({"devices": 8, "tokens": 8192, "memory_limit": 4 * gib, "plans": [
    {"name": name, "legal": True, "bound": bound, "seconds": seconds, "memory": {"total": total}}
    for name, bound, seconds, total in [
        ("TP 8", False, 0.01, 6.2 * gib), ("TP 4", True, 0.02, 6.2 * gib),
        ("ZeRO-1 2 x TP 4", False, 0.012345, 7 * gib), ("TP 4", False, 0.137, 6.8 * gib)]]}))
