// The public calls that choose tokens from masked logits on the CPU: check every argument, then run
// kernels/sample_cpu.
//
// Example: temperature -1 in the second of three rows is refused as "temperature of row 1".
// Cost: a pass over rows and parameters, then the kernel's.
// Tested by tests/matcher/sample_api_test.cc.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "base/status.h"
#include "grammask/grammask.h"
#include "kernels/sample_cpu.h"
#include "matcher/apply_args.h"

namespace grammask {
namespace {

// `args.indices`, or all rows.
std::vector<int32_t> RowsOf(const ApplyArgs& args) {
  if (!args.indices.empty()) return {args.indices.begin(), args.indices.end()};
  std::vector<int32_t> rows(static_cast<size_t>(args.logits_rows));
  std::iota(rows.begin(), rows.end(), 0);
  return rows;
}

Status CheckRoom(const char* name, size_t entries, size_t rows) {
  if (entries == rows) return {};
  return InvalidArgument(std::string(name) + " has " + std::to_string(entries) + " entries for " +
                         std::to_string(rows) + " rows");
}

Status Refused(const char* name, const std::string& value, size_t row, size_t rows,
               const char* range) {
  return OutOfRange(std::string(name) + (rows > 1 ? " of row " + std::to_string(row) : "") +
                    " is " + value + "; it must be " + range);
}

}  // namespace

Status CheckSamplingParameters(std::span<const SamplingParameters> parameters) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    const SamplingParameters& p = parameters[i];
    const auto refused = [&](const char* name, const std::string& value, const char* range) {
      return Refused(name, value, i, parameters.size(), range);
    };
    if (!(p.temperature >= 0) || std::isinf(p.temperature)) {
      return refused("temperature", std::to_string(p.temperature), "finite and at least 0");
    }
    if (p.top_k < 0) return refused("top_k", std::to_string(p.top_k), "at least 0 (0: off)");
    if (!(p.top_p > 0 && p.top_p <= 1)) {
      return refused("top_p", std::to_string(p.top_p), "over 0 and at most 1");
    }
    if (!(p.min_p >= 0 && p.min_p <= 1)) {
      return refused("min_p", std::to_string(p.min_p), "from 0 to 1");
    }
  }
  return {};
}

Status MaskedArgmaxCpu(const ApplyArgs& args, std::span<int64_t> tokens, std::span<float> values) {
  GM_ASSIGN_OR_RETURN(const internal::MaskedRows rows, internal::CheckApplyArgs(args));
  GM_ASSIGN_OR_RETURN(const internal::CpuIsa isa, internal::ChosenCpuIsa());
  const std::vector<int32_t> indices = RowsOf(args);
  GM_RETURN_IF_ERROR(CheckRoom("tokens", tokens.size(), indices.size()));
  GM_RETURN_IF_ERROR(CheckRoom("values", values.size(), indices.size()));
  internal::MaskedArgmaxRows(rows, indices, isa, tokens.data(), values.data());
  return {};
}

Status MaskedSampleCpu(const ApplyArgs& args, std::span<const SamplingParameters> parameters,
                       std::span<int64_t> tokens) {
  GM_ASSIGN_OR_RETURN(const internal::MaskedRows rows, internal::CheckApplyArgs(args));
  GM_ASSIGN_OR_RETURN(const internal::CpuIsa isa, internal::ChosenCpuIsa());
  const std::vector<int32_t> indices = RowsOf(args);
  GM_RETURN_IF_ERROR(CheckRoom("tokens", tokens.size(), indices.size()));
  if (parameters.size() != 1) {
    GM_RETURN_IF_ERROR(CheckRoom("parameters", parameters.size(), indices.size()));
  }
  GM_RETURN_IF_ERROR(CheckSamplingParameters(parameters));
  std::vector<internal::SampleParameters> each;
  each.reserve(parameters.size());
  for (const SamplingParameters& p : parameters) {
    each.push_back({p.seed, p.offset, p.temperature, p.top_k, p.top_p, p.min_p});
  }
  internal::MaskedSampleRows(rows, indices, each, isa, tokens.data());
  return {};
}

}  // namespace grammask
