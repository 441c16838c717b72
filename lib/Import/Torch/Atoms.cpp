#include "Atoms.h"

#include <algorithm>
#include <cassert>

using namespace tpsp::import;
using namespace tpsp::import::torch;

bool torch::contains(const AtomList &list, Atom atom) {
  return std::find(list.begin(), list.end(), atom) != list.end();
}

Atom Atoms::create(int64_t extent) {
  Entry entry;
  entry.extent = extent;
  entry.same = static_cast<Atom>(entries.size());
  entries.push_back(std::move(entry));
  return entries.back().same;
}

Atom Atoms::find(Atom atom) const {
  while (entries[atom].same != atom)
    atom = entries[atom].same;
  return atom;
}

int64_t Atoms::extent(const AtomList &list) const {
  int64_t product = 1;
  for (Atom atom : list)
    product *= extent(atom);
  return product;
}

AtomList Atoms::leaves(Atom atom) const {
  Atom root = find(atom);
  const Entry &entry = entries[root];
  if (!entry.major)
    return {root};
  AtomList all = leaves(*entry.major), minor = leaves(*entry.minor);
  all.insert(all.end(), minor.begin(), minor.end());
  return all;
}

AtomList Atoms::leaves(const AtomList &list) const {
  AtomList all;
  for (Atom atom : list) {
    AtomList some = leaves(atom);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

bool Atoms::areApart(Atom a, Atom b) const {
  const Entry &one = entries[a], &other = entries[b];
  bool isFewer = one.apart.size() <= other.apart.size();
  const Entry &fewer = isFewer ? one : other;
  Atom looked = isFewer ? b : a;
  return std::any_of(fewer.apart.begin(), fewer.apart.end(),
                     [&](Atom atom) { return find(atom) == looked; });
}

bool Atoms::unify(Atom a, Atom b) {
  a = find(a);
  b = find(b);
  if (a == b)
    return true;
  assert(!entries[a].major && !entries[b].major);
  if (entries[a].extent != entries[b].extent || areApart(a, b))
    return false;
  // The older one stays, so that names follow the program's order.
  if (b < a)
    std::swap(a, b);
  entries[b].same = a;
  for (Atom other : entries[b].apart) {
    Atom root = find(other);
    entries[root].apart.insert(a);
    entries[a].apart.insert(root);
  }
  entries[b].apart.clear();
  if (!entries[a].partner)
    entries[a].partner = entries[b].partner;
  return true;
}

void Atoms::split(Atom leaf, int64_t minor) {
  Atom root = find(leaf);
  assert(!entries[root].major && entries[root].extent % minor == 0);
  Atom first = create(entries[root].extent / minor), second = create(minor);
  entries[root].major = first;
  entries[root].minor = second;
  std::set<Atom> others = entries[root].apart;
  keepApart({first, second});
  for (Atom other : others)
    for (Atom one : leaves(other)) {
      keepApart({one, first});
      keepApart({one, second});
    }
}

void Atoms::keepApart(const AtomList &list) {
  AtomList all = leaves(list);
  for (Atom a : all)
    for (Atom b : all)
      if (a != b)
        entries[a].apart.insert(b);
}

Atom Atoms::partner(Atom leaf) {
  Atom root = find(leaf);
  if (!entries[root].partner) {
    Atom other = create(entries[root].extent);
    entries[root].partner = other;
    keepApart({root, other});
  }
  return *entries[root].partner;
}
