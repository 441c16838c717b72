#include "RankContext.h"

#include <fmt/format.h>

using namespace tpsp::rt;

Status tpsp_rt_rank::findCall(CallKind kind, const tpsp_rt_command &command,
                              Call *&out) {
  PreparedCalls &prepared = calls[&command];
  const std::unique_ptr<Call> &known = prepared.at(place, command);
  if (known && isPreparedFrom(*known, place, kind, command)) {
    out = known.get();
    current.store(out, std::memory_order_release);
    return {};
  }
  auto fresh = std::make_unique<Call>();
  if (Status status = prepareCall(world, number, place, kind, command, *fresh);
      !status.ok())
    return inCall(*fresh, status);
  prepared.isByMicroBatch = fresh->dependsOnMicroBatch;
  std::unique_ptr<Call> &slot = prepared.at(place, command);
  if (slot) {
    // A stream may still be running the old call.
    TPSP_TRY(backend->synchronize());
    std::lock_guard<std::mutex> lock(retiring);
    current.store(nullptr);
    slot.reset();
  }
  slot = std::move(fresh);
  out = slot.get();
  current.store(out, std::memory_order_release);
  return {};
}

Status tpsp_rt_rank::beginStep() {
  ++step;
  lastId = -1;
  // The plan orders a step's commands only among themselves.
  return backend->synchronize();
}

Status tpsp_rt_rank::issueStep(const StepRecords::Issue &issue) {
  isInStep = true;
  Status status = result(issue(this));
  isInStep = false;
  return status;
}

Status tpsp_rt_rank::followOrder(const Call &call) {
  if (!isInStep && call.id <= lastId)
    TPSP_TRY(beginStep());
  lastId = call.id;
  if (const auto *record = std::get_if<EventRecordCommand>(&call.command))
    recordedIn[record->event] = step;
  if (const auto *wait = std::get_if<EventWaitCommand>(&call.command);
      wait && recordedIn[wait->event] != step)
    return inCall(call, {TPSP_RT_INVALID,
                         fmt::format("waits for event {}, which nothing has "
                                     "recorded in this step",
                                     wait->event)});
  return {};
}

Status tpsp_rt_rank::result(tpsp_rt_status code) const {
  if (code == TPSP_RT_OK)
    return {};
  if (lastError.empty())
    return {code, fmt::format("a plan returned status {}", code)};
  return {code, lastError};
}

tpsp_rt_status tpsp_rt_rank::fail(const Status &status) {
  if (lastError.empty())
    lastError = status.message();
  return status.code();
}

std::string tpsp_rt_rank::activity() {
  std::lock_guard<std::mutex> lock(retiring);
  const Call *call = current.load(std::memory_order_acquire);
  if (!call)
    return "has issued nothing";
  std::string streams = backend->streamActivity();
  std::string place = action();
  return fmt::format("last issued {} \"{}\"{}{}{}{}", callName(call->kind),
                     call->name, place.empty() ? "" : " ", place,
                     streams.empty() ? "" : "; ", streams);
}

std::string tpsp_rt_rank::action() const {
  const tpsp::PlanSegment *now = segment;
  if (!now)
    return "";
  return now->isOfMicroBatch() ? fmt::format("in \"{}\" of micro-batch {}",
                                             now->name, microBatch.load())
                               : fmt::format("in \"{}\"", now->name);
}
