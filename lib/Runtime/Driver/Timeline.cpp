#include "tpsp/Runtime/Driver/Timeline.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

using namespace tpsp::rt;
using Json = nlohmann::ordered_json;

void Timeline::begin() {
  lists.resize(manifest.numRanks() * manifest.streams);
  for (std::vector<Entry> &entries : lists) {
    entries.clear();
    entries.reserve(manifest.commands);
  }
}

void Timeline::ran(int64_t rank, const tpsp_rt_command &command, Time begin,
                   Time end) {
  listOf(rank, command.stream).push_back({&command, begin, end});
}

/// When the first rank began.
Timeline::Time Timeline::start() const {
  Time first = Time::max();
  for (const std::vector<Entry> &entries : lists)
    if (!entries.empty())
      first = std::min(first, entries.front().begin);
  return first;
}

static double microseconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

/// Names a process (a rank) or a thread (a stream).
static Json nameOf(const char *what, int64_t rank, int64_t stream,
                   const std::string &name) {
  return {{"name", what},
          {"ph", "M"},
          {"pid", rank},
          {"tid", stream},
          {"args", {{"name", name}}}};
}

/// "rank 3: dp=1 tp=1".
static std::string rankName(const RankMesh &mesh, int64_t rank) {
  std::string text = fmt::format("rank {}", rank);
  std::vector<int64_t> coordinates = mesh.coordinates(rank);
  for (size_t axis = 0; axis < coordinates.size(); ++axis)
    text += fmt::format("{} {}={}", axis == 0 ? ":" : "",
                        mesh.axes()[axis].name, coordinates[axis]);
  return text;
}

static std::string streamName(int64_t stream) {
  return stream == 0 ? "compute" : fmt::format("communication {}", stream);
}

/// What the viewer shows of a command that is clicked.
static Json arguments(const tpsp_rt_command &command,
                      const ManifestCollective *collective) {
  Json args = {{"command", command.name ? command.name : ""},
               {"id", command.id}};
  if (!collective)
    return args;
  args["kind"] = collective->kind;
  args["axes"] = collective->axes;
  args["index"] = collective->index;
  args["bytes"] = collective->bytes;
  args["phase"] = collective->phase;
  args["reason"] = collective->reason;
  return args;
}

/// The command without its place in the model, so that the viewer sums up what
/// is alike.
static std::string shortName(const tpsp_rt_command &command) {
  std::string name = command.name ? command.name : "";
  return name.substr(0, name.rfind(" at "));
}

std::string Timeline::toJson() const {
  std::map<int64_t, const ManifestCollective *> collectives;
  for (const ManifestCollective &collective : manifest.collectives)
    for (int64_t command : collective.commands)
      collectives[command] = &collective;
  RankMesh mesh;
  if (!RankMesh::create(manifest.mesh, mesh).ok())
    mesh = RankMesh();
  Time zero = start();
  Json events = Json::array();
  for (size_t list = 0; list < lists.size(); ++list) {
    int64_t rank = static_cast<int64_t>(list) / manifest.streams;
    int64_t stream = static_cast<int64_t>(list) % manifest.streams;
    if (stream == 0)
      events.push_back(nameOf("process_name", rank, 0, rankName(mesh, rank)));
    if (!lists[list].empty())
      events.push_back(nameOf("thread_name", rank, stream, streamName(stream)));
    for (const Entry &entry : lists[list]) {
      const tpsp_rt_command &command = *entry.command;
      auto found = collectives.find(command.id);
      bool isCollective = found != collectives.end();
      events.push_back({{"name", shortName(command)},
                        {"cat", isCollective ? "collective" : "compute"},
                        {"ph", "X"},
                        {"ts", microseconds(entry.begin - zero)},
                        {"dur", microseconds(entry.end - entry.begin)},
                        {"pid", rank},
                        {"tid", command.stream},
                        {"args", arguments(command, isCollective ? found->second
                                                                 : nullptr)}});
    }
  }
  Json json = {{"displayTimeUnit", "ms"},
               {"otherData", {{"program", manifest.program}}},
               {"traceEvents", std::move(events)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}
