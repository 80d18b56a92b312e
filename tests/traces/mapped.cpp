// CSV and JSON by a map: columns and pointers, units, labels, constants, filters; and what is wrong with a
// map.
#include <doctest/doctest.h>

#include "tests/traces/imports.hpp"

namespace simsgd::test::traces_mapped {

using namespace traces;

TEST_CASE("columns by name and, where a name repeats, by number; several quantities of a row") {
  const Measurements all = imported(
      "size(B),count,time(ns),busbw,time(ns),busbw\n1048576,262144,44210,23.72,45100,23.25\n", mapped(R"x({
        "bytes": {"from": "size(B)", "unit": "B"},
        "values": [
          {"from": 3, "unit": "ns", "quantity": "time_s", "labels": {"placement": "out_of_place"}},
          {"from": 5, "unit": "ns", "quantity": "time_s", "labels": {"placement": "in_place"}}],
        "constants": {
  "operation" : "all_reduce", "workers" : 2, "machine" : "a100"
}
})x"));
  CHECK(rows_text(all) ==
        "time_s 4.421e-05 all_reduce, 2 workers, 1048576 B, line 2; machine=a100, placement=out_of_place\n"
        "time_s 4.51e-05 all_reduce, 2 workers, 1048576 B, line 2; machine=a100, placement=in_place\n");
}

TEST_CASE("a difference of two columns, a deviation, samples, labels, and rows that a filter leaves out") {
  const Measurements all =
      imported("label;P;begin;end;pm;n;size\na;2;1.5;2;0.1;30;4\nb;2;0;1;;;4\na;4;0;1;;1.5;\na;x;0;1;;;4\n",
               mapped(R"x({
        "separator": ";", "workers": "P", "campaign": "label", "where": {"label": "a", "P": [2, 4.0, "x"]},
        "bytes": {"from": "size", "unit": "KiB"}, "labels": {"ranks": "P"},
        "values": [{"from": "end", "minus": "begin", "unit": "ms", "quantity": "time_s", "deviation": "pm",
                    "samples": "n"}]})x"));
  CHECK(rows_text(all) ==
        "time_s 0.0005 +- 0.0001, 2 workers, 4096 B, 30 samples, campaign a, line 2; ranks=2\n"
        "time_s 0.001, 4 workers, campaign a, line 4; ranks=4\n");
  CHECK(understood(all) == "1 rows that \"where\" leaves out");
  CHECK(ignored(all) == "1 rows whose workers or nodes are not a whole number");
}

TEST_CASE("a value and a label over other columns") {
  const Measurements all = imported("gpus,batch,rate\n8,3200,56000\n64,3200,5000\n3,100,0\n", mapped(R"x({
        "workers": "gpus", "labels": {"each": {"from": "batch", "over": "gpus"}, "ten": {"from": "batch", "over": "gpus", "times": 10}},
        "values": [{"from": "batch", "over": "rate", "unit": "s", "quantity": "step_s"},
                   {"from": "batch", "over": ["rate", "gpus"], "unit": "ms", "quantity": "time_s"}]})x"));
  CHECK(rows_text(all) ==
        "step_s 0.0571428571, 8 workers, line 2; each=400, ten=4000\n"
        "time_s 7.14285714e-06, 8 workers, line 2; each=400, ten=4000\n"
        "step_s 0.64, 64 workers, line 3; each=50, ten=500\n"
        "time_s 1e-05, 64 workers, line 3; each=50, ten=500\n");
  CHECK(ignored(all) == "2 values that are divided by 0");
}

TEST_CASE("a table without a header, between blanks, with comments") {
  const Measurements all = imported("% n time\n 2   1.5\n 4\t3.5\n", mapped(R"x({
        "header": false, "separator": "blanks", "comment": "%", "workers": 1,
        "values": [{"from": 2, "unit": "s", "quantity": "step_s"}]})x"));
  CHECK(rows_text(all) == "step_s 1.5, 2 workers, line 2\nstep_s 3.5, 4 workers, line 3\n");
}

TEST_CASE("a value without a unit has the unit 1") {
  CHECK(
      imported("t\n476\n", mapped(R"x({"values": [{"from": "t", "unit": "1", "quantity": "batch_time"}]})x"))
          .rows.at(0)
          .value == 476);
}

TEST_CASE("cells that cannot be read are counted by reason") {
  const Measurements all = imported(
      "t,P\n1,1\n,1\n2 us,1\nabc,1\n1e400,1\n-3,1\n4\n5,1,1\n1,1\n\"6,1\n",
      mapped(R"x({"values": [{"from": "t", "unit": "us", "quantity": "time_s"}], "workers": "P"})x"));
  CHECK(all.rows.size() == 2);
  CHECK(
      ignored(all) ==
      "2 cells that are not a finite number; 1 cells with a unit of their own; 1 negative times, sizes or rates; 2 rows that do not have the header's columns; 1 rows whose quotation marks stay open");
  CHECK(understood(all) == "1 empty cells; 1 points that were measured before, in this call; kept");
}

TEST_CASE(
    "JSON: records behind a pointer, what the document says of all of them, values of any scalar type") {
  const Measurements all = imported(R"x({"H": 8, "world_size": 4, "id": "run", "steps": [
      {"step": 0, "outer": false, "t": {"wall_ms": 27.5}}, {"step": 1, "outer": true, "t": {"wall_ms": "30"}},
      {"step": 2, "outer": true, "t": null}, 7]})x",
                                    mapped(R"x({
      "records": "/steps", "document": {"workers": "/world_size", "H": "/H", "campaign": "/id"},
      "labels": {"step": "/step", "outer": "/outer"},
      "values": [{"from": "/t/wall_ms", "unit": "ms", "quantity": "step_s"}]})x"));
  CHECK(rows_text(all) ==
        "step_s 0.0275, 4 workers, campaign run; H=8, outer=false, step=0\n"
        "step_s 0.03, 4 workers, campaign run; H=8, outer=true, step=1\n");
  CHECK(understood(all) == "2 empty cells");
}

TEST_CASE("JSON: a filter goes by pointers too, and a document can be its only record") {
  CHECK(
      imported(
          R"([{"a": 1, "t": 1}, {"a": 2, "t": 2}])",
          mapped(R"x({"where": {"/a": 2}, "values": [{"from": "/t", "unit": "s", "quantity": "time_s"}]})x"))
          .rows.at(0)
          .value == 2);
  CHECK(imported(R"x({"t": 3})x",
                 mapped(R"x({"values": [{"from": "/t", "unit": "s", "quantity": "time_s"}]})x"))
            .rows.at(0)
            .value == 3);
}

TEST_CASE("JSON: what is not where the map says") {
  const std::string map =
      R"x({"records": "/a/b", "document": {"workers": "/P"}, "values": [{"from": "/t", "unit": "s", "quantity": "time_s"}]})x";
  CHECK(import_errors(R"x({"a": {}})x", mapped(map)) ==
        "f:/a/b: is not a list of records. Set the map's /records to a JSON pointer to it.\n");
  CHECK(import_errors(R"x({"a": {"b": [{"t": 1}]}})x", mapped(map)) ==
        "f:/P: is missing. Correct the map's /document/workers.\n");
  CHECK(import_errors(R"x({"P": 0.5, "a": {"b": [{"t": 1}]}})x", mapped(map)) ==
        "f:/P: is not a whole number of at least 1. Found: 0.5. Write workers as 8.\n");
}

TEST_CASE("what is wrong with a map is said with file, pointer, value and remedy") {
  const auto wrong = [](const std::string& map) { return import_errors("a,b,a\n1,2,3\n", mapped(map)); };
  CHECK(wrong("{}") == "map.json:/values: is missing. Give a value for it.\n");
  CHECK(wrong(R"x({"values": []})x") ==
        "map.json:/values: is empty. Found: []. Say at least once where a value stands.\n");
  CHECK(wrong(R"x({"values": [{"from": "b", "quantity": "time_s"}]})x") ==
        "map.json:/values/0/unit: is missing. Give a value for it.\n");
  CHECK(
      wrong(R"x({"values": [{"from": "b", "unit": "GB", "quantity": "time_s"}]})x") ==
      "map.json:/values/0/unit: is not a unit of time. Found: \"GB\". Write the unit of \"20 ms\" or 0.02 (seconds).\n");
  CHECK(
      wrong(R"x({"values": [{"from": "b", "unit": "us", "quantity": "batch_time"}]})x") ==
      "map.json:/values/0/unit: is not a unit of number. Found: \"us\". Write 1 for a number without a unit, or end the quantity's name with its SI unit: time_s.\n");
  CHECK(wrong(R"x({"values": [{"unit": "us", "quantity": "time_s"}]})x") ==
        "map.json:/values/0/from: is missing. Give the name of a column, or its number from 1.\n");
  CHECK(
      wrong(R"x({"values": [{"from": 0, "unit": "us", "quantity": "time_s"}]})x") ==
      "map.json:/values/0/from: is not a column. Found: 0. Give the name of a column, or its number from 1.\n");
  CHECK(
      wrong(R"x({"valeus": 1})x") ==
      "map.json:/valeus: is not a key here. Found: 1. Did you mean \"values\"? Valid are values, bytes, operation, workers, nodes, campaign, labels, constants, where, header, separator or comment.\n");
  const std::string value = R"("values": [{"from": "b", "unit": "us", "quantity": "time_s"}])";
  CHECK(wrong("{" + value + R"x(, "labels": {"line": "b"}})x")
            .starts_with("map.json:/labels/line: is not a name of a label. Found: \"b\". Use letters"));
  CHECK(wrong("{" + value + R"x(, "constants": {"workers": -2}})x") ==
        "map.json:/constants/workers: is not a whole number of at least 1. Found: -2. Write workers as 8.\n");
  CHECK(
      wrong("{" + value + R"x(, "header": false})x") ==
      "map.json:/values/0/from: names a column of a file without a header. Found: \"b\". Give the column's number, from 1.\n");
  CHECK(
      import_errors("{}", mapped(R"x({"values": [{"from": "t", "unit": "us", "quantity": "time_s"}]})x")) ==
      "map.json:/values/0/from: is not a JSON pointer. Found: \"t\". Give a JSON pointer into the record, such as \"/time_ms\".\n");
  CHECK(import_errors("a\n1\n", mapped("[1]")) ==
        "map.json: is not a map. Write an object: {\"values\": [...]}.\n");
}

TEST_CASE("columns that a file does not have, or has twice, are all told at once") {
  CHECK(
      import_errors("a,time,a\n1,2,3\n",
                    mapped(R"x({"values": [{"from": "a", "unit": "us", "quantity": "time_s"},
      {"from": "tine", "unit": "us", "quantity": "time_s"}, {"from": 9, "unit": "us", "quantity": "time_s"}]})x")) ==
      "f: has more than one column \"a\", which the map's /values/0/from names. Give the number of one: 1 or 3.\n"
      "f: has no column \"tine\", which the map's /values/1/from names. Did you mean \"time\"? There are a, time or a.\n"
      "f: has no column 9, which the map's /values/2/from names. It has 3 columns.\n");
}

}  // namespace simsgd::test::traces_mapped
