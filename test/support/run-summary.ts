/**
 * A reporter that prints, after vitest's own summary, how long the files of each project took, and
 * which tests failed before they passed.
 */
import type { Reporter, TestModule } from 'vitest/node';

interface ProjectTime {
  files: number;
  milliseconds: number;
}

export default class RunSummary implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    printTimes(modules);
    printFlaky(modules);
  }
}

function printTimes(modules: readonly TestModule[]): void {
  const times = new Map<string, ProjectTime>();
  for (const module of modules) {
    const time = times.get(module.project.name) ?? { files: 0, milliseconds: 0 };
    time.files += 1;
    time.milliseconds += module.diagnostic().duration;
    times.set(module.project.name, time);
  }
  for (const [project, { files, milliseconds }] of times) {
    console.log(`    Project  ${project}: ${files} files, ${(milliseconds / 1000).toFixed(1)} s`);
  }
}

function printFlaky(modules: readonly TestModule[]): void {
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      if (test.diagnostic()?.flaky !== true) continue;
      console.log(`      Flaky  ${module.relativeModuleId} > ${test.fullName}`);
      // A test that passed keeps the errors of its earlier attempts.
      for (const { message } of test.result().errors ?? []) console.log(`             ${message}`);
    }
  }
}
