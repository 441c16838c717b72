// The head of the page, and everything that depends on the chosen plan.

function drawHead() {
  const report = data.steps.length ? data.steps[0].report || {} : {};
  const program = matrix ? matrix.program : report.program || 'a program';
  document.title = `${program}: tpsp`;
  byId('title').textContent = program;
  byId('facts').replaceChildren(...facts(matrix ? matrixFacts() : reportFacts(report)));
  const best = matrix && matrix.plans.find((each) => each.rank === 1);
  byId('summary').textContent = !matrix ? '' : best ? `Best: ${best.label || best.name}, ${secondsText(best.seconds)} a step, ${bytesText(best.memory.total)} a rank.`
      : 'No plan fits.';
}

function matrixFacts() {
  const {search} = matrix;
  return [['hardware', matrix.hardware], ['devices', String(matrix.devices)], ['memory of a device', bytesText(matrix.memory_limit)],
    ['tokens a step', countText(matrix.tokens)], ['searched', secondsText(search.seconds)], ['evaluations', String(search.evaluations)],
    ['gap', gapText(search)], ['the space', search.space ? search.space.text : ''],
    ['ties', tiesText(search)]];
}

function gapText(search) {
  const plans = `no plan ${search.space ? search.space.plans : 'of the space'}`;
  return search.gap === 0 ? `0: ${plans} is faster` : `${percentText(search.gap)}: ${plans} can be faster by more`;
}

/// The plans whose composed time is within the error of the best plan's.
function tiesText(search) {
  const ties = search.ties || [];
  return ties.length ? `plans ${ties.join(', ')} are within the error of ±${percentText(search.error)}: any of them may be the fastest` : '';
}

function reportFacts(report) {
  const mesh = Object.entries(report.mesh || {}).map(([axis, size]) => `${axis} = ${size}`).join(', ');
  const time = report.time || {}, prediction = report.prediction || {}, memory = report.memory;
  return [['mesh', mesh || 'one rank'], ['hardware', prediction.hardware || report.hardware || ''], ['backend', report.backend || ''],
    ['stored as', report.dtype || ''], ['schedule', report.schedule || ''],
    ['step', time.step || report.step ? secondsText(time.step || report.step) : ''],
    ['exposed communication', time.exposed_communication >= 0 && time.exposed_communication !== null ? secondsText(time.exposed_communication) : ''],
    ['bubble', report.bubble === undefined ? '' : percentText(report.bubble)],
    ['memory of a rank', isObject(memory) ? bytesText(memory.peak) : report.needed ? bytesText(report.needed) : ''],
    ['matmul peak used', prediction.matmul_utilisation > 0 ? percentText(prediction.matmul_utilisation) : '']];
}

/// Describes the drawn step, and what the drawing leaves out.
function stepText(each) {
  const {step, json} = each;
  if (!step) return 'The page has no step of this plan. Write its program with tpsp-plan -o, with --pin if it is not the best, and see it with tpsp-run --simulate --html.';
  if (!step.step) return 'It is not known what ran when.';
  const drawn = step.step, says = [];
  if (drawn.setting) says.push(`${drawn.setting}.`);
  if (drawn.ranks.length === 1 && drawn.ranks[0].alike > 1) says.push('All ranks do the same; they are one lane.');
  if (json.composed) says.push(`Compiled whole it takes ${secondsText(drawn.nanoseconds * 1e-9)}; the table composes it of few layers.`);
  if (drawn.left_out.commands > 0)
    says.push(`The ${drawn.left_out.commands} shortest commands, ${secondsText(drawn.left_out.nanoseconds * 1e-9)} together, are left out.`);
  return says.join(' ');
}

function drawStep() {
  const each = plan(), withSteps = plans.filter((other) => other.step);
  byId('shown-controls').hidden = !matrix;
  const named = (other) => other.json.rank > 0 ? `${other.json.rank}: ${other.name}` : other.name;
  const options = withSteps.map((other) => el('option', {value: other.index}, named(other)));
  if (!each.step) options.unshift(el('option', {value: each.index}, named(each)));
  byId('shown').replaceChildren(...options);
  byId('shown').value = each.index;
  byId('step-says').textContent = stepText(each);
  showTimeline(each.step && each.step.step);
}

/// Redraws the figures of the chosen plan. Called only if another plan is
/// chosen.
function drawChosen() {
  drawStep();
  drawEquations();
  drawLedger();
  drawEverything();
}

function start() {
  if (data.checks) return startChecks();
  drawHead();
  startMatrix();
  startPareto();
  if (!plans.length) {
    for (const id of ['step', 'memory', 'equations', 'ledger']) byId(id).hidden = true;
    return;
  }
  startTimeline();
  startTables();
  startMemory();
  byId('shown').addEventListener('change', (event) => choose(Number(event.target.value)));
  let drawn = -1;
  const draw = () => {
    drawMemory();
    if (drawn === state.chosen) return;
    drawn = state.chosen;
    drawChosen();
  };
  watchers.push(draw);
  draw();
}

start();
addEventListener('hashchange', () => location.hash === '#selftest' && selfTest());
if (location.hash === '#selftest') selfTest();
