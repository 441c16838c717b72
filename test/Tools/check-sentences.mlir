// scripts/check-sentences compares the number of bad sentences in each room with
// a baseline that may only fall, and says where they are.
// RUN: rm -rf %t && split-file %s %t
// DEFINE: %{check} = %docs/../scripts/check-sentences --root %t

// At the baseline all is well.
// RUN: %{check} | count 0

// One more of a rule is refused, in its room alone. The first of a room is shown.
// RUN: cat %t/more.txt >> %t/lib/Passes/A.cpp
// RUN: not %{check} > %t/printed
// RUN: diff %t/printed %t/more.expected

// A file that is named may have none. The list has every rule, and the line on
// which a sentence begins.
// RUN: not %{check} %t/docs/rules.md %t/lib/Passes/A.cpp > %t/printed
// RUN: diff %t/printed %t/list.expected

// Good sentences, parts of which look like bad ones.
// RUN: %{check} %t/docs/good.md %t/lib/Passes/Good.h | FileCheck %s --check-prefix=GOOD
// GOOD: {{^findings: 0$}}

// A count that has fallen becomes the limit, and one that has risen does not.
// RUN: cp %t/lower.md %t/docs/rules.md
// RUN: not %{check} --lower > %t/printed
// RUN: diff %t/printed %t/more.expected
// RUN: diff %t/lowered.json %t/scripts/data/sentences.json

//--- more.expected
error: lib/Passes: 2 of 'beside', at most 1: say 'next to' or 'besides'
  scripts/check-sentences lib/Passes lists all of them
error: lib/Passes: 1 of 'verb', at most 0: a sentence in a comment has a verb
lib/Passes/A.cpp:14: verb: From any thread.
//--- list.expected
docs/rules.md:1: opening: Of all tensors the first is read.
docs/rules.md:1: opening: Nor is the second.
docs/rules.md:2: opening: Likewise the third.
docs/rules.md:4: all that: All that is read is freed.
docs/rules.md:5: made up: Weights are made up.
docs/rules.md:6: behind: The sum runs behind the product.
docs/rules.md:7: beside: The bias lies beside it.
docs/rules.md:8: goes: Dead code goes.
docs/rules.md:9: as before: Plans of before, too.
docs/rules.md:10: has not: It has what the other has not.
docs/rules.md:11: where: Where none fits, it fails.
docs/rules.md:12: what: What is dead is removed.
docs/rules.md:13: long: One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty one two three four five six.
lib/Passes/A.cpp:1: beside: This stands beside.
lib/Passes/A.cpp:13: beside: That lies beside it.
lib/Passes/A.cpp:14: verb: From any thread.
findings: 16
//--- scripts/data/sentences.json
{
  "docs": {
    "all that": 1, "as before": 1, "behind": 1, "beside": 1, "goes": 1,
    "has not": 1, "long": 1, "made up": 1, "opening": 3, "what": 1, "where": 1
  },
  "lib/Passes": {
    "beside": 1
  }
}
//--- lowered.json
{
  "docs": {
    "opening": 1
  },
  "lib/Passes": {
    "beside": 1
  }
}
//--- lower.md
Of all tensors the first is read.
//--- docs/rules.md
Of all tensors the first is read. Nor is the
second. Likewise the third.

All that is read is freed.
- Weights are made up.
- The sum runs behind the product.
- The bias lies beside it.
- Dead code goes.
- Plans of before, too.
- It has what the other has not.
- Where none fits, it fails.
- What is dead is removed.
- One two three four five six seven eight nine ten eleven twelve
  thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty
  one two three four five six.
//--- docs/good.md
Of course it is read. What is read? The plan is made up of commands.
Nothing is left behind. The option is `--beside`. This is where it goes.
Where the axis divides it, a tensor is cut. From it come all that are cut.

```
Of code nothing is read. What is code?
```
//--- lib/Passes/Good.h
// From each thread one is taken. By rank: its part.
// In the order of commands, as `of before.` they were.
int of = 1; // Of code.
//--- lib/Passes/A.cpp
// This stands beside.

int a = 0;

int b() {
  // A comment within.
  return a;
}

int c() {
  return a;
}
//--- more.txt
// That lies beside it.
// From any thread.
