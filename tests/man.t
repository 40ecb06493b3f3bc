#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# The manual pages against the programs' own tables: verbs, options, fields, attributes and properties, both ways. TAP; B
# is the build directory. Runs from the top directory.
use strict;
use warnings;
use Test::More;

my $B = $ENV{B} || 'build';
my $vnicadm = $ENV{VNICADM} || "$B/vnicadm/vnicadm";
my $flowadm = $ENV{FLOWADM} || "$B/flowadm/flowadm";
my $vnicd = $ENV{VNICD_UNDER_TEST} || "$B/vnicd/vnicd";
-x $_ or BAIL_OUT("no $_: build it first") for $vnicadm, $flowadm, $vnicd;

sub slurp {
	open my $file, '<', $_[0] or BAIL_OUT("$_[0]: $!");
	return join '', <$file>;
}

# A page's section, by its title.
sub section {
	my ($page, $macro, $title) = @_;
	return $page =~ /^\.$macro \Q$title\E\n(.*?)(?=^\.S[hs] |\z)/ms ? $1 : '';
}

sub same {
	my ($got, $want, $title) = @_;
	is_deeply([sort @$got], [sort @$want], $title) or diag("page: @{[sort @$got]}\nprogram: @{[sort @$want]}");
}

sub unique { my %seen; return grep { !$seen{$_}++ } @_ }

# A command's page against its own help: verbs, their other names, options, fields.
sub check_command {
	my ($name, $program, @shows) = @_;
	my $page = slurp("man/$name.8");
	my $synopsis = section($page, 'Sh', 'SYNOPSIS');
	my $help = qx($program help);
	my @verbs = $help =~ /^  ([a-z]+-?[a-z]*)\b/mg;
	my %alias = $help =~ /^  ([a-z-]+) \(([a-z-]+)\)/mg;
	my @items = section($page, 'Ss', 'Commands') =~ /^\.It Cm ([a-z-]+(?: , [a-z-]+)*)$/mg;

	same([unique($synopsis =~ /^\.Nm\n\.Cm ([a-z-]+)$/mg)], \@verbs, "$name.8: SYNOPSIS has the verbs of the program");
	same(\@items, [map { $alias{$_} ? "$_ , $alias{$_}" : $_ } @verbs], "$name.8: Commands has the verbs of the program");

	my %long;
	for my $verb (grep { $_ ne 'help' } @verbs) {
		my $text = qx($program help $verb);
		my %flags = $text =~ /^  -([a-zA-Z]), --([a-z-]+)/mg;
		# What the synopsis says of a verb, all its forms together.
		my $forms = join '', $synopsis =~ /^\.Nm\n\.Cm \Q$verb\E\n(.*?)(?=^\.Nm$|\z)/msg;

		delete $flags{h};
		same([unique($forms =~ /\bFl ([a-zA-Z])\b/g)], [keys %flags], "$name.8: SYNOPSIS has the options of $verb");
		$long{"$_ $flags{$_}"} = 1 for keys %flags;
	}
	my %described = map { $_ => 1 } $page =~ /\bFl ([a-zA-Z] , Fl Fl [a-z-]+)/g;
	delete @described{'h , Fl Fl help', 'b , Fl Fl batch'};
	same([map { s/ , Fl Fl / /r } keys %described], [keys %long], "$name.8: each option is described, short and long");
	same([section($page, 'Sh', 'DESCRIPTION') =~ /^\.It (?:Fl [bh] , )?Fl Fl ([a-z]+)/mg],
		[$help =~ /^  (?:-[a-z], )?--([a-z]+)/mg], "$name.8: options before the command");

	# -o with an unknown field is told the known ones.
	my $output = section($page, 'Ss', 'Output');
	for my $show (@shows) {
		my $item = $show =~ s/ -s/ Fl s/r =~ s/ -l .*//r;
		my ($of) = $output =~ /^\.It Cm \Q$item\E\n(.*?)(?=^\.It|^\.El|\.\n\.Li|\z)/ms;
		my ($known) = qx($program $show -o nosuchfield 2>&1) =~ /all or some of ([a-z_,]+)/;

		same([map { lc } ($of // '') =~ /\b([A-Z_]{2,})\b/g], [split /,/, $known // ''], "$name.8: fields of $item");
	}
}

# The items of a list in a section, without those of lists within it.
sub items {
	my ($page, $title) = @_;
	my $list = section($page, 'Ss', $title);

	1 while $list =~ s/(^\.It .*?)^\.Bl (?:(?!^\.[BE]l).)*^\.El\n/$1/ms;
	return map { split / , / } $list =~ /^\.It Cm (.*)$/mg;
}

check_command('vnicadm', $vnicadm, 'show-link', 'show-link -s', 'show-phys', 'show-vnic', 'show-etherstub', 'show-linkprop');
check_command('flowadm', $flowadm, 'show-flow', 'show-flow -s', 'show-flowprop', 'match-flow -l x transport=tcp');

my $page = slurp('man/vnicadm.8');
my @rows = slurp('lib/model/linkprop.c') =~ /\[PROP_[A-Z_]+\]\s*=\s*\{\s*\.name = "([a-z-]+)"/g;
cmp_ok(scalar @rows, '>', 3, 'the property rows are found');
same([items($page, 'Properties')], \@rows, 'vnicadm.8: Properties has the rows of the program');

# What completion offers are the model's rows.
sub offered { return map { s/=\n//r } qx($flowadm complete $_[0] '') }

$page = slurp('man/flowadm.8');
@rows = offered('create-flow -p');
cmp_ok(scalar @rows, '>', 3, 'the flow properties are found');
same([items($page, 'Properties')], \@rows, 'flowadm.8: Properties has the rows of the program');
@rows = offered('create-flow -a');
cmp_ok(scalar @rows, '>', 8, 'the attributes are found');
same([items($page, 'Attributes')], \@rows, 'flowadm.8: Attributes has the rows of the program');

# Of words the page may say a few at a time ("cs0 to cs7").
my $attributes = section($page, 'Ss', 'Attributes');
for my $word (map { /=(.+)/ } map { qx($flowadm complete create-flow -a $_=) } qw(transport ethertype direction)) {
	like($attributes, qr/^\.(?:Cm|Pq Cm) (?:[a-z0-9]+ , )*\Q$word\E\b/m, "flowadm.8: Attributes has the word $word");
}

# Statuses are part of what scripts rely on.
for my $name ('vnicadm', 'flowadm', 'vnicd') {
	my $text = slurp("man/$name.8");

	for my $title ('NAME', 'SYNOPSIS', 'DESCRIPTION', 'ENVIRONMENT', 'FILES', 'SEE ALSO') {
		ok(section($text, 'Sh', $title) ne '', "$name.8: $title");
	}
	like(section($text, 'Sh', 'EXIT STATUS'), qr/^\.It 0\n.*^\.It 1\n.*^\.It 2\n/ms, "$name.8: EXIT STATUS");
	like(section($text, 'Sh', 'EXAMPLES'), qr/^(?:\.Dl |\.Bd )/m, "$name.8: EXAMPLES");
}

$page = slurp('man/vnicd.8');
my @options = qx($vnicd --help) =~ /^  --([a-z-]+)/mg;
same([unique(section($page, 'Sh', 'SYNOPSIS') =~ /Fl Fl ([a-z-]+)/g)], \@options, 'vnicd.8: SYNOPSIS has the options');
same([section($page, 'Sh', 'DESCRIPTION') =~ /^\.It Fl Fl ([a-z-]+)/mg], \@options, 'vnicd.8: each option is described');
for my $default (qx($vnicd --help) =~ /\(default (\S+?)\)/g) {
	like($page, qr/^\.Pa \Q$default\E\b/m, "vnicd.8: the default $default");
}
done_testing();
