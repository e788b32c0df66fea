/* iostall:insert_target */
INSERT INTO run_target (run_number, position, path, device, device_model)
VALUES (:run_number, :position, :path, :device, :device_model);
