/** Lines of SHOW GRANTS, as MariaDB and MySQL write them. */
import { expect, test } from 'vitest';
import { parseGrants } from '../../database/grants.ts';

test.each([
  ["GRANT USAGE ON *.* TO `u`@`%` IDENTIFIED BY PASSWORD '*ABC'", []],
  ['GRANT USAGE ON *.* TO `u`@`%` WITH GRANT OPTION', ['USAGE on *.*, grantable']],
  [
    'GRANT ALL PRIVILEGES ON *.* TO `u`@`%` WITH GRANT OPTION',
    ['ALL PRIVILEGES on *.*, grantable'],
  ],
  ['GRANT SELECT, SHOW VIEW ON `site`.* TO `u`@`%`', ['SELECT on *', 'SHOW VIEW on *']],
  ['GRANT SELECT ON "site".* TO "u"@"%"', ['SELECT on *']],
  ['GRANT SELECT ON `si%`.* TO `u`@`%`', ['SELECT on *']],
  ['GRANT SELECT ON `sit_`.* TO `u`@`%`', ['SELECT on *']],
  ['GRANT SELECT ON `sit\\_`.* TO `u`@`%`', ['SELECT on `sit\\_`.*']],
  [
    'GRANT SELECT, INSERT ON `other`.* TO `u`@`%` WITH GRANT OPTION',
    ['SELECT on `other`.*, grantable', 'INSERT on `other`.*, grantable'],
  ],
  ['GRANT SELECT ON `si%`.`games` TO `u`@`%`', ['SELECT on `si%`.`games`']],
  ['GRANT UPDATE (title) ON "other"."Games" TO "u"@"%"', ['UPDATE on `other`.`Games`']],
  ['GRANT UPDATE ON "a""b`c".* TO "u"@"%"', ['UPDATE on `a"b``c`.*']],
  [
    'GRANT SELECT (id, title), UPDATE (title) ON `site`.`Games` TO `u`@`%`',
    ['SELECT on games', 'UPDATE on games'],
  ],
  ['GRANT `reader` TO `u`@`%`', []],
  ['GRANT EXECUTE ON PROCEDURE `site`.`p` TO `u`@`%`', []],
  ['SET DEFAULT ROLE `reader` FOR `u`@`%`', []],
])('%s', (line, expected) => {
  const found = parseGrants(line, 'site').map(({ right, on, place, isGrantable }) => {
    const where = typeof on === 'object' ? on.table : on === 'elsewhere' ? place : on;
    return `${right} on ${where}${isGrantable ? ', grantable' : ''}`;
  });
  expect(found).toEqual(expected);
});
