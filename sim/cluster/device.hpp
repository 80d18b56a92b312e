// A GPU and what work on it costs, as the files of devices describe it. Costs of kernels have no default: one
// that is left out is unknown, counts as 0, and the result says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/fields.hpp"

namespace simsgd {

/// Products of matrices on a device.
struct GemmKernel {
  struct Time {
    int m = 1, n = 1, k = 1;
    double seconds = 0;

    void fields(Fields& f) {
      f.whole("m", m, "The product has this many rows").required().at_least(1);
      f.whole("n", n, "The product has this many columns").required().at_least(1);
      f.whole("k", k, "Each entry of the product is a sum of this many terms").required().at_least(1);
      f.time("time", seconds, "The kernel alone takes this long").required().above(0);
    }
  };
  Cost efficiency{};
  std::vector<Time> times;  ///< empty: by FLOPs
  bool memory_bound = false;
  std::optional<int> tile;
  Cost gather_s{};

  void fields(Fields& f) {
    f.number("efficiency", efficiency, "Large products reach this share of the peak")
        .above(0)
        .at_most(1)
        .by_rule("unknown: that of training");
    f.objects(
        "times", times,
        "Measured times, sorted by 2 m n k. Between two measured shapes the rate is interpolated on logarithmic scales. Outside the measured range it is scaled from the nearest shape, and the result says so",
        "One measurement");
    f.flag(
        "memory_bound", memory_bound,
        "Whether a product takes at least as long as a launch and a vector_pass over its three matrices. That is the memory side of the roofline, which limits small and thin products");
    f.whole(
         "tile", tile,
         "A product is computed in square tiles with this many rows and columns; a tile that is partly filled takes as long as a full one. Where times are measured, tiles count only outside their range")
        .at_least(1)
        .by_rule("none: by the product's own FLOPs");
    f.time(
         "gather", gather_s,
         "A product takes this much longer if its matrix must be gathered first, such as the patches of a convolution. That covers these launches, and those of what is done with the product")
        .by_rule("unknown");
  }
};

/// Inverting a symmetric matrix on a device.
struct InverseKernel {
  struct Time {
    int dimension = 1;
    double seconds = 0;

    void fields(Fields& f) {
      f.whole("dimension", dimension, "The matrix has this many rows").required().at_least(1);
      f.time("time", seconds, "The kernel alone takes this long").required().above(0);
    }
  };
  std::vector<Time> times;  ///< empty: unknown, by FLOPs
  Cost overhead_s{};

  void fields(Fields& f) {
    f.objects(
         "times", times,
         "Measured times, sorted by dimension. Times of other dimensions are interpolated or extrapolated on logarithmic scales",
         "One measurement")
        .required()
        .least_items(1);
    f.time("overhead", overhead_s, "Each matrix takes this much longer than its kernel").by_rule("unknown");
  }
};

/// Factorising m x n matrices into Q R.
struct QrKernel {
  struct Time {
    int rows = 1, columns = 1;
    double seconds = 0;

    void fields(Fields& f) {
      f.whole("rows", rows, "The matrix has this many rows, at least as many as columns")
          .required()
          .at_least(1);
      f.whole("columns", columns, "The matrix has this many columns").required().at_least(1);
      f.time("time", seconds, "The kernel alone takes this long").required().above(0);
    }
  };
  std::vector<Time> times;  ///< empty: by FLOPs
  Cost column_s{};
  Cost overhead_s{};

  void fields(Fields& f) {
    f.objects(
        "times", times,
        "Measured times, sorted by FLOPs (2 m n^2 - 2/3 n^3). Times of other sizes are interpolated or extrapolated on logarithmic scales",
        "One measurement");
    f.time(
         "column", column_s,
         "Where no times are measured, each column adds this time, since columns are computed one after another")
        .by_rule("unknown");
    f.time("overhead", overhead_s, "Each matrix takes this much longer than its kernel").by_rule("unknown");
  }
};

/// A measured choice of the largest of a vector's entries.
struct SelectionTime {
  std::int64_t entries = 2;
  std::optional<double> density;
  double seconds = 0;

  void fields(Fields& f) {
    f.whole("entries", entries, "The vector has this many entries (d)").required().at_least(2);
    f.number("density", density,
             "This share of the entries is chosen (k / d). Either all measurements say it, or none does")
        .above(0)
        .at_most(1)
        .by_rule("the time holds for any");
    f.time("time", seconds, "The kernel alone takes this long").required().above(0);
  }
};

/// Passes over long vectors.
struct VectorPass {
  Cost efficiency{};

  void fields(Fields& f) {
    f.number("efficiency", efficiency, "A pass reaches this share of memory_bandwidth")
        .above(0)
        .at_most(1)
        .by_rule("unknown: all of it");
  }
};

/// A GPU. Peak rates are the vendor's. How the numbers of kernels become times: kernels.hpp.
struct Device {
  std::string name;
  double peak_flops = 0;
  double efficiency = 0.5;
  double memory_bytes = 0;
  double memory_Bps = 0;
  Cost launch_s{};
  VectorPass vector_pass;
  Cost copy_Bps{};
  Cost communication_slowdown{};
  std::optional<double> communication_share{};
  GemmKernel gemm;
  InverseKernel inverse;
  QrKernel qr;
  Cost selection_s{};
  std::vector<SelectionTime> selection_times;  ///< empty: by selection_s
  Cost quantise_s{};
  Cost accumulate_s{};
  std::optional<int> compute_capability;
  double price_usd_per_h = 0;
  double busy_W = 0;
  double idle_W = 0;
  std::string source;

  void fields(Fields& f) {
    f.text("name", name, "Name of the device. Workloads use it to say what their times were measured on")
        .required();
    f.flops(
        "peak_flops", peak_flops,
        "The device's peak rate at the precision that training uses. A multiply-add counts as 2 FLOPs; 0 means unknown");
    f.number("efficiency", efficiency, "Training kernels reach this share of the peak").above(0).at_most(1);
    f.bytes("memory", memory_bytes,
            "The device has this much memory. 0 means unknown; then nothing checks that the model fits");
    f.quantity(Dimension::rate_Bps, "memory_bandwidth", memory_Bps,
               "The device's memory has this bandwidth; 0 means unknown")
        .at_least(0);
    f.time("launch", launch_s,
           "Launching a kernel takes this long. Each layer launches one kernel in each direction")
        .by_rule("unknown");
    f.object(
        "vector_pass", vector_pass,
        "How long a pass over a long vector takes: the bytes that it reads and writes, at a share of memory_bandwidth");
    f.bandwidth(
         "copy_bandwidth", copy_Bps,
         "Copies between the device's memory and the host's have this bandwidth in each direction, usually that of PCIe")
        .by_rule("unknown");
    f.number(
         "communication_slowdown", communication_slowdown,
         "While a collective is running on the device, computing takes longer by this share (0.1: 10 % longer)")
        .at_least(0)
        .by_rule("unknown");
    f.number(
         "communication_share", communication_share,
         "While the device computes, communication gets this share of the bandwidth of its gpu_link. On nodes with one GPU the NIC passes on no more than that; without a gpu_link it keeps this share of its own bandwidth")
        .above(0)
        .at_most(1)
        .by_rule("1: all of it");
    f.object("gemm", gemm, "How long a matrix product takes: 2 m n k FLOPs at a share of peak_flops");
    f.object(
        "inverse", inverse,
        "How long inverting a symmetric matrix takes; where it is unknown, dimension^3 FLOPs at the device's efficiency");
    f.object(
        "qr", qr,
        "How long a QR factorisation takes; without times, 2 m n^2 - 2/3 n^3 FLOPs at the efficiency of products");
    f.whole("compute_capability", compute_capability,
            "The compute capability of an NVIDIA device, times ten (A100: 80). NCCL's tables depend on it")
        .at_least(10)
        .by_rule("not known");
    f.number("price_usd_per_h", price_usd_per_h,
             "One GPU costs this much an hour, with its share of the node; 0 means unknown")
        .at_least(0);
    f.time(
         "selection", selection_s,
         "Choosing the k largest of d entries takes this time x d log2 d, for any k. With 0 it takes no time")
        .by_rule("unknown");
    f.objects(
        "selection_times", selection_times,
        "Measured times, which take the place of selection, sorted by density and entries. Between two of them times are interpolated on logarithmic scales. Outside their range they are scaled with d log2 d from the nearest one, and the result says so",
        "One measurement");
    f.time("quantise", quantise_s,
           "Rounding one number to fewer bits takes this long, whatever the number of bits")
        .by_rule("a pass over its vector that reads 4 bytes and writes these bits");
    f.time("accumulate", accumulate_s,
           "Gathering tensors into one long vector and adding another vector takes this long for each number")
        .by_rule("by its vector_pass");
    f.power("busy_power", busy_W, "A GPU draws this much power while it computes; 0 means unknown");
    f.power("idle_power", idle_W, "A GPU draws this much power while it waits or communicates");
    f.text("source", source, "Where the numbers come from");
  }

  /// Fills what follows from other kernels where nothing is said.
  void complete();

  /// Bytes that a pass over long vectors reads and writes in a second; 0 where nothing is known of it.
  double vector_Bps() const { return memory_Bps * vector_pass.efficiency.value_or(1); }
};

/// What the host adds to a message or a collective. Units and where each is charged: docs/model.md, "Host
/// costs".
struct HostCosts {
  Cost launch_s{};
  Cost pack_s_per_byte{};
  Cost staging_Bps{};
  Cost reduce_s_per_byte{};
  double overlap_s = 0;
  Cost tensor_s{};
  Cost scale_s_per_byte{};
  Cost copy_s{};
  Cost merge_s{};
  Cost scatter_add_s{};
  std::optional<bool> staged{};
  double message_s = 0;  ///< beside the latency of a message's links; only a stack sets it

  void fields(Fields& f) {
    f.time("launch", launch_s,
           "A worker's host spends this long on each operation before the first byte moves")
        .by_rule("unknown");
    f.number(
         "pack", pack_s_per_byte,
         "Copying one byte into a fusion buffer before an operation, and out of it afterwards, takes this long")
        .at_least(0)
        .by_rule("a copy on the device, by its vector_pass");
    f.flag(
         "staged", staged,
         "Whether payloads are copied to the host before an operation and back to the device afterwards, at the device's copy_bandwidth. With false nothing is copied (RDMA)")
        .by_rule("unknown");
    f.quantity(Dimension::rate_Bps, "staging_bandwidth", staging_Bps,
               "These copies have this bandwidth; with 0 nothing is copied")
        .at_least(0)
        .by_rule("as \"staged\" says");
    f.number("reduce", reduce_s_per_byte, "Adding one received byte to the local sum takes this long")
        .at_least(0)
        .by_rule("unknown");
    f.time("tensor", tensor_s, "Gathering one tensor into a message takes this long").by_rule("unknown");
    f.number("scale", scale_s_per_byte, "Multiplying a vector by a number takes this long for each byte")
        .at_least(0)
        .by_rule("on the device, by its vector_pass");
    f.time(
         "copy", copy_s,
         "Where the host works on a vector, copying each of its numbers takes this long, in addition to the way down and up at staging_bandwidth")
        .by_rule("unknown");
    f.time("merge", merge_s, "Merging two sorted lists takes this long for each received entry")
        .by_rule("unknown");
    f.time("scatter_add", scatter_add_s,
           "Adding one entry (index, number) into a dense vector takes this long")
        .by_rule("unknown");
    f.time(
        "overlap", overlap_s,
        "Communication that follows the backward pass begins this long before its end, with the tensors that are ready by then");
  }
  /// Fills what follows from the device where nothing is said.
  void complete(const Device& device);

  /// Time before the first byte of a `bytes` payload, gathered from so many `tensors`, moves; and after the
  /// last one has arrived. Without tensors it is not packed: it is sent from where it lies.
  double before_s(double bytes, int tensors = 1) const {
    return launch_s + tensors * tensor_s + after_s(bytes, tensors);
  }
  double after_s(double bytes, int tensors = 1) const {
    return (tensors > 0 ? bytes * pack_s_per_byte : 0) + (staging_Bps > 0 ? bytes / staging_Bps : 0);
  }
};

}  // namespace simsgd
