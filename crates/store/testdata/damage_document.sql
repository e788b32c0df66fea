/* iostall:test_damage_document */
UPDATE run_document SET document = x'28b52ffd00';
