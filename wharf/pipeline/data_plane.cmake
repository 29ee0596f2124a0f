# pipeline_data: the data plane and its simulator. Apart from the planner, because serving needs no solver.
wharf_room(pipeline_data
  SOURCES arrivals.cc deployment.cc max_load.cc network_model.cc reactive_scheduler.cc reservation.cc reserving_scheduler.cc
          scheduler.cc simulator.cc
  DEPS wharf::pipeline absl::flat_hash_map absl::span)
wharf_test(pipeline_data SOURCES reservation_test.cc)
wharf_test(pipeline_data SOURCES arrivals_test.cc)
wharf_test(pipeline_data SOURCES network_model_test.cc)
wharf_test(pipeline_data SOURCES simulator_test.cc)
wharf_benchmark(pipeline_data SOURCES scheduler_benchmark.cc)
wharf_test(pipeline_data SOURCES max_load_test.cc)
wharf_test(pipeline_data SOURCES deployment_test.cc)
