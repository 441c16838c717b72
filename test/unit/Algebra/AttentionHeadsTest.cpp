/// Attention's tensors as heads of rows. Every match is checked by addresses,
/// index by index. Layouts that no library has are refused.
#include "tpsp/Algebra/AttentionHeads.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <gtest/gtest.h>

using namespace tpsp;

namespace {

using Extents = llvm::StringMap<int64_t>;

/// A tensor given as one letter per index, outermost first.
struct Tensor {
  Tensor(llvm::StringRef text, const Extents &extents) {
    for (size_t i = 0; i < text.size(); ++i) {
      names.push_back(text.substr(i, 1));
      shape.push_back(extents.lookup(names.back()));
    }
  }
  NamedShape get() const { return {names, shape}; }

  int64_t stride(llvm::StringRef name) const {
    int64_t stride = 1;
    for (size_t i = names.size(); i-- > 0;) {
      if (names[i] == name)
        return stride;
      stride *= shape[i];
    }
    return 0;
  }

  llvm::SmallVector<llvm::StringRef> names;
  llvm::SmallVector<int64_t> shape;
};

/// q, k, v, o by their letters: s queries, t keys, d features, e values'.
struct Case {
  const char *q, *k, *v, *o;
};

AttentionMatch match(const Case &c, const Extents &extents) {
  Tensor q(c.q, extents), k(c.k, extents), v(c.v, extents), o(c.o, extents);
  return matchAttentionHeads(
      {q.get(), k.get(), v.get(), o.get(), "s", "t", "d"});
}

/// Compares, for every combination of outer indices, the address in the tensors
/// with that in the match.
void checkAddresses(const Case &c, const Extents &extents,
                    llvm::StringRef batch, llvm::StringRef head,
                    llvm::StringRef group) {
  AttentionMatch m = match(c, extents);
  ASSERT_TRUE(m.matches()) << m.obstacle;
  const AttentionHeads &h = m.heads;
  auto extentOf = [&](llvm::StringRef names) {
    int64_t extent = 1;
    for (char name : names)
      extent *= extents.lookup(llvm::StringRef(&name, 1));
    return extent;
  };
  EXPECT_EQ(h.batch, extentOf(batch));
  EXPECT_EQ(h.heads, extentOf(head));
  EXPECT_EQ(h.groups, extentOf(group));
  EXPECT_EQ(h.queries, extents.lookup("s"));
  EXPECT_EQ(h.keys, extents.lookup("t"));
  EXPECT_EQ(h.features, extents.lookup("d"));
  const std::pair<const char *, const AttentionHeads::Layout *> layouts[] = {
      {c.q, &h.q}, {c.k, &h.k}, {c.v, &h.v}, {c.o, &h.o}};
  for (auto [text, at] : layouts) {
    Tensor tensor(text, extents);
    auto innermost = [&](llvm::StringRef names) {
      return names.empty() ? 0 : tensor.stride(names.take_back(1));
    };
    EXPECT_EQ(at->batch, innermost(batch)) << text;
    EXPECT_EQ(at->head, innermost(head)) << text;
    EXPECT_EQ(at->group, innermost(group)) << text;
  }
  EXPECT_EQ(h.q.row, Tensor(c.q, extents).stride("s"));
  EXPECT_EQ(h.k.row, Tensor(c.k, extents).stride("t"));
  EXPECT_EQ(h.v.row, Tensor(c.v, extents).stride("t"));
  EXPECT_EQ(h.o.row, Tensor(c.o, extents).stride("s"));
}

Extents extents() {
  Extents e;
  for (auto [name, extent] : {std::pair("a", 11),
                              {"b", 2},
                              {"h", 3},
                              {"g", 5},
                              {"s", 7},
                              {"t", 13},
                              {"d", 4},
                              {"e", 6}})
    e[name] = extent;
  return e;
}

TEST(AttentionHeads, HeadsOfTheirOwn) {
  checkAddresses({"bshd", "bthd", "bthe", "bshe"}, extents(), "b", "h", "");
  checkAddresses({"bhsd", "bhtd", "bhte", "bhse"}, extents(), "", "bh", "");
  checkAddresses({"sbhd", "tbhd", "tbhe", "sbhe"}, extents(), "", "bh", "");
  checkAddresses({"bshd", "bthd", "bthd", "bshd"}, extents(), "b", "h", "");
}

TEST(AttentionHeads, GroupsOfQueries) {
  checkAddresses({"bshgd", "bthd", "bthe", "bshge"}, extents(), "b", "h", "g");
  checkAddresses({"bhgsd", "bhtd", "bhte", "bhgse"}, extents(), "", "bh", "g");
  // There is one head of keys. b is no head, because g does not lie inside it.
  checkAddresses({"bsgd", "btd", "bte", "bsge"}, extents(), "b", "", "g");
  checkAddresses({"bgsd", "btd", "bte", "bgse"}, extents(), "", "b", "g");
  checkAddresses({"bhsgd", "bhtd", "bhte", "bhsge"}, extents(), "bh", "", "g");
}

TEST(AttentionHeads, OneTensorMayBeLaidOutOtherwise) {
  checkAddresses({"bshd", "bhtd", "bthe", "bhse"}, extents(), "b", "h", "");
  checkAddresses({"bshgd", "bhtd", "bhte", "bhgse"}, extents(), "b", "h", "g");
}

TEST(AttentionHeads, ExtentsOfOneDoNotCount) {
  Extents e = extents();
  e["b"] = 1;
  checkAddresses({"sbhd", "tbhd", "thbe", "shbe"}, e, "", "h", "");
  e["a"] = 1;
  EXPECT_TRUE(match({"bashd", "bathd", "bathe", "bashe"}, e).matches());
  e["d"] = 1;
  EXPECT_TRUE(match({"bdsh", "bthd", "bthe", "bshe"}, e).matches());
}

TEST(AttentionHeads, WhatNoLibraryHas) {
  auto refuses = [](Case c, llvm::StringRef why) {
    AttentionMatch m = match(c, extents());
    EXPECT_FALSE(m.matches()) << c.q;
    EXPECT_NE(m.obstacle.find(why.str()), std::string::npos) << m.obstacle;
  };
  refuses({"bhds", "bhtd", "bhte", "bhse"}, "'d' is not innermost");
  refuses({"bhsd", "bhdt", "bhte", "bhse"}, "'d' is not innermost");
  refuses({"bhsd", "bhtd", "bhet", "bhse"}, "'e' is not innermost");
  refuses({"bhsd", "bhtd", "bhte", "bhes"}, "'e' is not innermost");
  refuses({"bgshd", "bthd", "bthe", "bgshe"}, "inside one that they lack");
  refuses({"bhgsd", "bhtd", "bte", "bhgse"}, "differ in index 'h'");
  refuses({"bsahd", "btahd", "btahe", "bshae"}, "one of the batch and one");
  refuses({"bgsad", "btd", "bte", "bgsae"}, "more than one index of queries'");
  refuses({"bhsgd", "hbtd", "hbte", "bhsge"}, "one of the batch and one");
}

} // namespace
