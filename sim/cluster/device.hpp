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
      f.whole("m", m, "Rows of the product").required().at_least(1);
      f.whole("n", n, "Columns of the product").required().at_least(1);
      f.whole("k", k, "Numbers that are multiplied and added for each of its entries").required().at_least(1);
      f.time("time", seconds, "The time of the kernel alone").required().above(0);
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
        "Measured times, by ascending 2 m n k. Inside their range a product has the rate between those of the nearest shapes with fewer and with more FLOPs, on logarithmic scales; outside it is scaled from the nearest edge, and the result says so",
        "One measurement");
    f.flag(
        "memory_bound", memory_bound,
        "Whether a product takes at least a vector_pass over its three matrices, and a launch: the other side of the roofline, for small and thin ones");
    f.whole(
         "tile", tile,
         "A product is computed in square tiles of so many rows and columns, the last ones as long as full ones; with a table, beyond it only")
        .at_least(1)
        .by_rule("none: by the product's own FLOPs");
    f.time(
         "gather", gather_s,
         "A product of a matrix that is gathered first, such as the patches of a convolution, takes this longer: its launches, and those of what is done with the product")
        .by_rule("unknown");
  }
};

/// Inverting a symmetric matrix on a device.
struct InverseKernel {
  struct Time {
    int dimension = 1;
    double seconds = 0;

    void fields(Fields& f) {
      f.whole("dimension", dimension, "Rows of the matrix").required().at_least(1);
      f.time("time", seconds, "The time of the kernel alone").required().above(0);
    }
  };
  std::vector<Time> times;  ///< empty: unknown, by FLOPs
  Cost overhead_s{};

  void fields(Fields& f) {
    f.objects(
         "times", times,
         "Measured times, by ascending dimension. Between them and beyond they are interpolated on logarithmic scales",
         "One measurement")
        .required()
        .least_items(1);
    f.time("overhead", overhead_s, "Each matrix takes this longer than the kernel").by_rule("unknown");
  }
};

/// Factorising m x n matrices into Q R.
struct QrKernel {
  struct Time {
    int rows = 1, columns = 1;
    double seconds = 0;

    void fields(Fields& f) {
      f.whole("rows", rows, "Rows of the matrix, at least as many as its columns").required().at_least(1);
      f.whole("columns", columns, "Columns of the matrix").required().at_least(1);
      f.time("time", seconds, "The time of the kernel alone").required().above(0);
    }
  };
  std::vector<Time> times;  ///< empty: by FLOPs
  Cost column_s{};
  Cost overhead_s{};

  void fields(Fields& f) {
    f.objects(
        "times", times,
        "Measured times, by ascending FLOPs (2 m n^2 - 2/3 n^3). Between them and beyond they are interpolated on logarithmic scales",
        "One measurement");
    f.time("column", column_s, "Without times, each column takes this longer, since one follows another")
        .by_rule("unknown");
    f.time("overhead", overhead_s, "Each matrix takes this longer than the kernel").by_rule("unknown");
  }
};

/// A measured choice of the largest of a vector's entries.
struct SelectionTime {
  std::int64_t entries = 2;
  std::optional<double> density;
  double seconds = 0;

  void fields(Fields& f) {
    f.whole("entries", entries, "d, the entries of the vector").required().at_least(2);
    f.number("density", density, "k / d, the share that is chosen; in all entries or in none")
        .above(0)
        .at_most(1)
        .by_rule("the time holds for any");
    f.time("time", seconds, "The time of the kernel alone").required().above(0);
  }
};

/// Passes over long vectors.
struct VectorPass {
  Cost efficiency{};

  void fields(Fields& f) {
    f.number("efficiency", efficiency, "Passes reach this share of memory_bandwidth")
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
    f.text("name", name, "Its name; one-device times of workloads refer to it").required();
    f.flops("peak_flops", peak_flops,
            "Peak rate that training uses, a multiply-add counted as 2; 0 where unknown");
    f.number("efficiency", efficiency, "Training kernels reach this share of the peak").above(0).at_most(1);
    f.bytes("memory", memory_bytes, "Memory; 0 where unknown: then it is not checked");
    f.quantity(Dimension::rate_Bps, "memory_bandwidth", memory_Bps,
               "Its memory has this bandwidth; 0 where it is unknown")
        .at_least(0);
    f.time("launch", launch_s, "Each kernel costs this overhead: one for each layer and direction")
        .by_rule("unknown");
    f.object(
        "vector_pass", vector_pass,
        "How long a pass over a long vector takes: its bytes, read and written, at a share of memory_bandwidth");
    f.bandwidth("copy_bandwidth", copy_Bps,
                "Copies between its memory and the host's have this bandwidth each way, that of PCIe")
        .by_rule("unknown");
    f.number("communication_slowdown", communication_slowdown,
             "Computing takes 1 + this times as long while a collective is in progress on the device")
        .at_least(0)
        .by_rule("unknown");
    f.number(
         "communication_share", communication_share,
         "Share of the bandwidth of its gpu_link that is left to communication while it computes; with one GPU per node its NIC passes on no more than that, or this share of its own without a gpu_link")
        .above(0)
        .at_most(1)
        .by_rule("1: all of it");
    f.object("gemm", gemm, "How long a product of matrices takes: 2 m n k flop at a share of peak_flops");
    f.object(
        "inverse", inverse,
        "How long inverting a symmetric matrix takes; where it is unknown, dimension^3 FLOPs at the device's efficiency");
    f.object(
        "qr", qr,
        "How long a QR factorisation takes; without times, 2 m n^2 - 2/3 n^3 FLOPs at the efficiency of products");
    f.whole("compute_capability", compute_capability,
            "NVIDIA's devices have this compute capability, times ten (A100: 80); NCCL's tables depend on it")
        .at_least(10)
        .by_rule("not known");
    f.number("price_usd_per_h", price_usd_per_h,
             "Price of one GPU with its share of the node; 0 where unknown")
        .at_least(0);
    f.time("selection", selection_s, "Choosing k of d entries takes this x d log2 d, whatever k; 0: no time")
        .by_rule("unknown");
    f.objects(
        "selection_times", selection_times,
        "In place of selection: measured times, by ascending density and entries; between them interpolated on logarithmic scales, outside scaled with d log2 d from the nearest edge, and the result says so",
        "One measurement");
    f.time("quantise", quantise_s,
           "Rounding to fewer bits takes this for each number, however many bits are left")
        .by_rule("a pass over its vector that reads 4 bytes and writes these bits");
    f.time("accumulate", accumulate_s,
           "Gathering tensors into one long vector and adding another one takes this for each number")
        .by_rule("by its vector_pass");
    f.power("busy_power", busy_W, "A GPU draws this while it computes; 0 where it is unknown");
    f.power("idle_power", idle_W, "A GPU draws this while it waits or communicates");
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
    f.time("launch", launch_s, "A worker's host spends this on each operation before its first byte moves")
        .by_rule("unknown");
    f.number(
         "pack", pack_s_per_byte,
         "Copying into a fusion buffer before an operation, and out of it after, takes this for each byte of payload")
        .at_least(0)
        .by_rule("a copy on the device, by its vector_pass");
    f.flag(
         "staged", staged,
         "Whether payloads are copied device to host before and host to device after, at the device's copy_bandwidth; false: no copy (RDMA)")
        .by_rule("unknown");
    f.quantity(Dimension::rate_Bps, "staging_bandwidth", staging_Bps,
               "These copies have this bandwidth; 0: nothing is copied")
        .at_least(0)
        .by_rule("as \"staged\" says");
    f.number("reduce", reduce_s_per_byte, "Adding what arrived to the local sum takes this for each byte")
        .at_least(0)
        .by_rule("unknown");
    f.time("tensor", tensor_s, "Each tensor that is gathered into a message takes this").by_rule("unknown");
    f.number("scale", scale_s_per_byte, "Multiplying a vector by a number takes this for each byte")
        .at_least(0)
        .by_rule("on the device, by its vector_pass");
    f.time(
         "copy", copy_s,
         "The host spends this on copies of each number of a vector that it works on, beside its way down and up over staging_bandwidth")
        .by_rule("unknown");
    f.time("merge", merge_s, "Merging two sorted lists takes this for each received entry")
        .by_rule("unknown");
    f.time("scatter_add", scatter_add_s,
           "Adding entries (index, number) into a dense vector takes this for each")
        .by_rule("unknown");
    f.time(
        "overlap", overlap_s,
        "Communication after the backward pass begins this long before its end, with the tensors that are ready");
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
