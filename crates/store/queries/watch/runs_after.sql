/* iostall:runs_after */
SELECT run.number AS number,
       run_document.encoding AS encoding,
       run_document.document AS document
  FROM run
  JOIN run_document ON run_document.run_number = run.number
 WHERE run.kind = :kind
   AND run.number > :after
 ORDER BY run.number;
