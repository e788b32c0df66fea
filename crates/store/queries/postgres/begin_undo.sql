/* iostall:begin_undo */
UPDATE iostall.push SET state = 'undoing', permit = $2, changed = now() WHERE number = $1;
