// Compiles the source of DeviceTwins.cu for the host, for the double of
// libcudart.
#include "../cuda-doubles/GpuSyntax.h"

#include "DeviceTwinsOnHost.h"

#include <chrono>
#include <thread>

static void rest(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

#include "DeviceTwins.cu"

void tpsp::rt::conformance::registerTwinsOnHost(
    decltype(&tpspDoubleRegisterKernel) add,
    const std::map<const char *, tpsp_rt_kernel_function> &speaking) {
  using tpsp::doubles::OnHost;
  OnHost<test_affine>::registerAs("test_affine", add);
  OnHost<test_double_in_rows>::registerAs("test_double_in_rows", add);
  OnHost<test_count>::registerAs("test_count", add);
  OnHost<test_mix>::registerAs("test_mix", add);
  OnHost<test_increment>::registerAs("test_increment", add);
  OnHost<test_add_one>::registerAs("test_add_one", add);
  OnHost<test_chain>::registerAs("test_chain", add);
  OnHost<test_write_late>::registerAs("test_write_late", add);
  OnHost<test_sleep_long>::registerAs("test_sleep_long", add);
  const size_t range[] = {8, 8};
  for (auto [entry, kernel] : speaking)
    add(
        entry,
        [kernel = kernel](dim3, dim3, size_t, void **) {
          kernel(nullptr, nullptr, 0, 1);
        },
        range, 2);
}
